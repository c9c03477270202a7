"""TensorBoard's own application, with either of its readers of event files, as it uses them itself."""

import time
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory

import pytest
from tensorboard.backend.application import TensorBoardWSGIApp
from tensorboard.backend.event_processing.data_ingester import LocalDataIngester
from tensorboard.context import RequestContext
from tensorboard.data.server_ingester import ExistingServerDataIngester, get_server_binary
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from tensorboard.program import TensorBoard
from tensorboard.util.grpc_util import ChannelCredsType
from werkzeug.test import Client

from tensorboard_attention.plugin import AttentionLoader

CONTEXT = RequestContext()
LOADERS = ("slow", "fast")
PLUGINS = [CorePluginLoader(), AttentionLoader()]


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


def flags_of(folder, *arguments):
    """What TensorBoard makes of its command line."""
    program = TensorBoard(plugins=PLUGINS, assets_zip_provider=lambda: None)
    program.configure(["tensorboard", "--logdir", str(folder), "--reload_interval=0", *arguments])
    return program.flags


@contextmanager
def provider_of(loader, flags):
    """A data provider that has read everything."""
    if loader == "slow":
        flags.reload_task = "blocking"
        ingester = LocalDataIngester(flags)
        ingester.start()
        yield ingester.data_provider
        return
    with _data_server(flags) as port:
        channel = ChannelCredsType.LOCAL
        ingester = ExistingServerDataIngester(f"127.0.0.1:{port}", channel_creds_type=channel)
        _wait_until_read(ingester.data_provider)
        yield ingester.data_provider


@contextmanager
def _data_server(flags):
    """The process behind the fast loader, started as TensorBoard starts it."""
    kept = ",".join(f"{name}={number or 'all'}" for name, number in flags.samples_per_plugin.items())
    with TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        arguments = [
            get_server_binary().path,
            f"--logdir={flags.logdir}", "--reload=once", f"--samples-per-plugin={kept}", "--port=0",
            f"--port-file={port_file}", "--die-after-stdin",
        ]  # fmt: skip
        with Popen(arguments, stdin=PIPE, stderr=DEVNULL) as process:
            while process.poll() is None and not (port_file.exists() and port_file.read_text()):
                time.sleep(0.02)
            yield int(port_file.read_text())
            process.stdin.close()


def _wait_until_read(provider):
    """The fast loader reads in the background: until nothing changes any more."""
    before, quiet = None, 0
    for _ in range(100):
        now = set()
        for plugin in provider.list_plugins(CONTEXT, experiment_id=""):
            found = provider.list_tensors(CONTEXT, experiment_id="", plugin_name=plugin)
            now |= {
                (run, tag, series.max_step) for run, tags in found.items() for tag, series in tags.items()
            }
            now.add(plugin)
        quiet = quiet + 1 if now == before else 0
        before = now
        if now and quiet >= 3:
            return
        time.sleep(0.05)
