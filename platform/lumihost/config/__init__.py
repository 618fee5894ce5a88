"""How the product is put together: settings, URLs, ASGI, Celery, environment, secrets."""
