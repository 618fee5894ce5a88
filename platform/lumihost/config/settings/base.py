"""Settings shared by every way of running. Nothing here reads a secret or opens a file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from csp.constants import NONCE, NONE, SELF

from lumihost.config import env
from lumihost.web.isolation import static_headers

PACKAGE = Path(__file__).resolve().parents[2]
CHECKOUT = PACKAGE.parents[1]
"""The project's root in a checkout; somewhere inside site-packages in a wheel."""

VAR = env.path("LUMIHOST_VAR", (CHECKOUT if (CHECKOUT / "manage.py").is_file() else Path.cwd()) / "var")
"""Everything an installation writes: database, media, broker, secrets, models."""

DEBUG = False
ROOT_URLCONF = "lumihost.config.urls"
ASGI_APPLICATION = "lumihost.config.asgi.application"
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "tenants",
    "lumihost.core",
    "lumihost.accounts",
    "lumihost.avatars",
    "lumihost.knowledge",
    "lumihost.fleet",
    "lumihost.live",
    "lumihost.metering",
    "lumihost.telemetry",
    "lumihost.realtime",
    "lumihost.nodes_api",
    "lumihost.api",
    "lumihost.web",
    "lumihost.cli",
]

MIDDLEWARE = [
    "lumihost.web.middleware.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "lumihost.accounts.middleware.AbsoluteSessionAge",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

LANGUAGE_CODE = "zh-hans"
LANGUAGES = [("zh-hans", "简体中文"), ("en", "English")]
LANGUAGE_COOKIE_NAME = "lumihost_language"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# -- sign-in (ASVS 3.3: idle 3 h, absolute 12 h) -------------------------------------------------------------------------
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher", "django.contrib.auth.hashers.PBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_NAME = "lumihost_session"
SESSION_COOKIE_AGE = 3 * 3600
SESSION_SAVE_EVERY_REQUEST = False
SESSION_IDLE_REFRESH_S = 300
SESSION_ABSOLUTE_AGE_S = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "lumihost_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "lumihost.api.problems.csrf_failure"

# -- headers -------------------------------------------------------------------------------------------------------------
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        # React writes style attributes through the CSSOM; only markup that arrives with them would need this, and none does.
        "style-src-attr": [NONE],
        "img-src": [SELF, "data:", "blob:"],
        "media-src": [SELF, "blob:"],
        "font-src": [SELF, "data:"],
        # The console draws hosts in the browser from the nodes' motion gateways (docs/dmcp.md).
        "connect-src": [SELF, *env.words("LUMIHOST_MOTION_ORIGINS", ("ws://127.0.0.1:*", "ws://localhost:*"))],
        "worker-src": [SELF, "blob:"],
        "manifest-src": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "object-src": [NONE],
    }
}

# -- files ---------------------------------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
MEDIA_ROOT = VAR / "media"
MEDIA_URL = "/media/"
"""Never routed: media leave through views that check the tenant."""
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/app/assets/"
"""Vite names these by their content."""
WHITENOISE_ADD_HEADERS_FUNCTION = static_headers
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

# -- REST ----------------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["lumihost.api.authentication.ConsoleSession"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_PAGINATION_CLASS": "lumihost.api.pagination.CursorList",
    "DEFAULT_THROTTLE_CLASSES": ["lumihost.api.throttles.PerUser"],
    "DEFAULT_THROTTLE_RATES": {
        "user": "1200/min",
        "login": "10/min",
        "login_account": "20/hour",
        "import": "30/min",
        "start": "30/min",
        "motion_token": "60/min",
    },
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "lumihost.api.problems.exception_handler",
    "NUM_PROXIES": 0,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Lumihost",
    "DESCRIPTION": "Shows, sessions, products and usage of one merchant. Errors are RFC 9457 problem details.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {"LanguageEnum": ["zh", "en"]},
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "lumihost.api.schema.add_problem_responses",
    ],
}

# -- jobs ----------------------------------------------------------------------------------------------------------------
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "control"
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 300
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"

# -- outgoing connections that merchants choose (lumihost.core.addresses) ------------------------------------------------
PRIVATE_ADDRESSES_ALLOWED = False

# -- domain --------------------------------------------------------------------------------------------------------------
KNOWLEDGE_IMPORT_MAX_BYTES = 10 * 1024 * 1024
KNOWLEDGE_IMPORT_MAX_ROWS = 5000
# Beside the engine's code wherever that is installed; the engine itself is not imported here.
_engine = find_spec("gpu_engine")
AVATAR_PACK_DIRS = [Path(folder) / "avatar" / "packs" for folder in (_engine and _engine.submodule_search_locations) or ()]
AVATAR_PACK_DIRS.append(VAR / "packs")
BACKDROP_DIRS = [Path(folder) / "stage" / "backdrops" for folder in (_engine and _engine.submodule_search_locations) or ()]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("LUMIHOST_LOG_LEVEL", "INFO")},
}
