"""A body that is still getting ready: it never connects."""

import time

if __name__ == "__main__":
    time.sleep(3600)  # until it is killed
