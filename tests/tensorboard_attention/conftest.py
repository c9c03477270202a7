"""TensorBoard's own application, with either of its readers of event files."""

import pytest
from tensorboard.backend.application import TensorBoardWSGIApp
from werkzeug.test import Client

from tests.tensorboard_attention.loaders import LOADERS, PLUGINS, flags_of, provider_of


@pytest.fixture(scope="module", params=LOADERS)
def serve(request):
    """Starts TensorBoard's own application on a log folder."""
    providers = []

    def start(folder, *arguments):
        flags = flags_of(folder, *arguments)
        manager = provider_of(request.param, flags)
        providers.append(manager)
        return Client(TensorBoardWSGIApp(flags, PLUGINS, manager.__enter__()))

    yield start
    for manager in providers:
        manager.__exit__(None, None, None)
