"""Many machines: PostgreSQL, Redis, TLS in front. Every secret comes from the environment; nothing is invented."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from lumihost.config import env
from lumihost.config.settings.base import *  # noqa: F403

SECRET_KEY = env.text("LUMIHOST_SECRET_KEY")
INTERNAL_SECRET = env.text("LUMIHOST_INTERNAL_SECRET")
NODE_TOKEN = env.text("LUMIHOST_NODE_TOKEN")
MASTER_KEYS_FILE = Path(env.text("LUMIHOST_MASTER_KEYS_FILE"))
# Signs motion tokens; every web process needs the same one. Made beside the master keys if it is not there.
MOTION_KEY_FILE = env.path("LUMIHOST_MOTION_KEY_FILE", MASTER_KEYS_FILE.with_name("motion_signing.jwk"))
ALLOWED_HOSTS = env.words("LUMIHOST_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.words("LUMIHOST_TRUSTED_ORIGINS")

_database = urlsplit(env.text("LUMIHOST_DATABASE_URL"))
if _database.scheme not in ("postgres", "postgresql"):
    raise ImproperlyConfigured(f"LUMIHOST_DATABASE_URL has scheme '{_database.scheme}': production needs postgresql://…")
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(_database.path.lstrip("/")),
        "USER": unquote(_database.username or ""),
        "PASSWORD": unquote(_database.password or ""),
        "HOST": _database.hostname or "",
        "PORT": _database.port or 5432,
        "CONN_MAX_AGE": 0,
    }
}
_redis = env.text("LUMIHOST_REDIS_URL").rstrip("/")
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": f"{_redis}/0"}}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [f"{_redis}/1"], "prefix": "lumihost"},
    }
}
CELERY_BROKER_URL = f"{_redis}/2"
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}

PRIVATE_ADDRESSES_ALLOWED = env.flag("LUMIHOST_PRIVATE_ADDRESSES", False)
# How many proxies of ours stand in front: the client's address is taken from X-Forwarded-For that far from its end, or one
# stranger's failed sign-ins would count against everybody behind the proxy.
REST_FRAMEWORK = {**REST_FRAMEWORK, "NUM_PROXIES": env.number("LUMIHOST_PROXIES", 1)}  # noqa: F405

SECURE_SSL_REDIRECT = True
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
SESSION_COOKIE_NAME = "__Host-lumihost_session"
CSRF_COOKIE_SECURE = True
CSRF_COOKIE_NAME = "__Host-lumihost_csrf"
WHITENOISE_USE_FINDERS = False
