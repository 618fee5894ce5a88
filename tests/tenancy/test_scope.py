import pytest

from lumihost.knowledge.models import Product
from tenants.context import scope
from tenants.errors import ScopeError

pytestmark = pytest.mark.services


def test_unscoped_reads_raise(two_tenants):
    with scope(two_tenants.a.tenant):
        Product.objects.create(sku="1", title_zh="x", currency="CNY", price_minor=1)
    with pytest.raises(ScopeError):
        Product.objects.count()
