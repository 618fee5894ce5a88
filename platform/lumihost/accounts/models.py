"""The user: signs in by e-mail."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone

from tenants.ids import MAX_LENGTH, new_id


def new_user_id() -> str:
    """Default of ``User.id``."""
    return new_id("usr")


class UserManager(BaseUserManager["User"]):
    """Creates users; e-mail addresses are compared without regard to case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """A user with a usable password, or none for invited users."""
        if not email.strip():
            raise ValueError("a user needs an e-mail address")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        """A member of the operator's staff."""
        return self.create_user(email, password, is_staff=True, **fields)

    def get_by_natural_key(self, email: str | None) -> User:
        """The user with this address, in any case."""
        return self.get(email=(email or "").strip().lower())


class User(AbstractBaseUser):
    """A person. What they may do is a Membership's business; ``is_staff`` is the operator's own staff."""

    id = models.CharField(primary_key=True, max_length=MAX_LENGTH, default=new_user_id, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True, default="")
    language = models.CharField(max_length=16, default="zh-hans")
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    EMAIL_FIELD = "email"
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.email
