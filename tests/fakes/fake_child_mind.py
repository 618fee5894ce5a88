"""The fake child as the mind."""

from tests.fakes.fake_child import run

if __name__ == "__main__":
    run("mind")
