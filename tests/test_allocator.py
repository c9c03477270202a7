import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, sys
import torch
from seq2seq.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "keep":
    keep_freed_memory()
for _ in range(4):
    torch.ones(2**24)
before = faults()
for _ in range(20):
    torch.ones(2**24)
print(faults() - before)
"""


def page_faults(mode):
    done = subprocess.run(
        [sys.executable, "-c", COUNT, mode], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator of glibc")
def test_a_tensor_takes_the_pages_of_the_one_before_it():
    assert page_faults("keep") * 3 < page_faults("leave")
