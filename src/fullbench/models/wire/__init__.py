"""Request and response payloads: encoding of pictures, parsing of replies, token estimates, batch lines."""
