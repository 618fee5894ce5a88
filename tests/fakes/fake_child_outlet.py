"""The fake child as the outlet."""

from tests.fakes.fake_child import run

if __name__ == "__main__":
    run("outlet")
