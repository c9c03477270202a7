import torch

from tests.oracles import cases


def pytest_configure(config):
    cases.device = torch.device(config.getoption("device"))
    torch.backends.cudnn.allow_tf32 = False  # or a GPU's GRU has ten bits of a float32
