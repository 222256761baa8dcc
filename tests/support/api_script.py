"""A script that calls the API of the web app with a token."""

from __future__ import annotations

import io

from PIL import Image

from fullbench.web.accounts import api_tokens
from fullbench.web.database import write_transaction
from tests.web.conftest import Visitor, person


def png(size=(6, 4), color="red", form="PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, form)
    return out.getvalue()


class Script(Visitor):
    """A script that sends a token."""

    def __init__(self, app, name, role, scope="write"):
        super().__init__(app)
        self.user = person(app, name, role)
        with write_transaction(app.state.engine) as connection:
            _, secret = api_tokens.create_token(connection, self.user, "test", scope)
        self.headers["Authorization"] = f"Bearer {secret}"
