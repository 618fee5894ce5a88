"""The fake child as the body."""

from tests.fakes.fake_child import run

if __name__ == "__main__":
    run("body")
