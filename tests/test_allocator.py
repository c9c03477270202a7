import platform
import subprocess
import sys

import pytest

COUNT = """
import resource
import torch
from seq2seq.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def count():
    for _ in range(4):
        torch.ones(2**24)
    before = faults()
    for _ in range(20):
        torch.ones(2**24)
    print(faults() - before)

count()
keep_freed_memory()
count()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator of glibc")
def test_a_tensor_takes_the_pages_of_the_one_before_it():
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, check=True)
    left, kept = map(int, done.stdout.split())
    assert kept * 3 < left
