from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fleet", "0001_initial")]

    operations = [
        migrations.AddField("node", "instance", models.CharField(blank=True, default="", help_text="which agent said hello last", max_length=64)),
    ]
