"""Tests: everything in memory, everything written in a folder of its own, passwords hashed fast."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Before the base settings read it: a test must never touch the installation's own files.
_own = tempfile.mkdtemp(prefix="lumihost-test-")
atexit.register(shutil.rmtree, _own, ignore_errors=True)
os.environ["LUMIHOST_VAR"] = _own

from lumihost.config.settings.base import *  # noqa: E402, F403

VAR = Path(_own)
SECRET_KEY = "test-key-of-no-installation-0123456789abcdef0123456789"
INTERNAL_SECRET = "test-internal-secret"
NODE_TOKEN = "test-node-token"
MASTER_KEYS_FILE = VAR / "secrets" / "master_keys.json"
MOTION_KEY_FILE = VAR / "secrets" / "motion_signing.jwk"
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
    }
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_BROKER_URL = "memory://"
PRIVATE_ADDRESSES_ALLOWED = True
WHITENOISE_AUTOREFRESH = True
