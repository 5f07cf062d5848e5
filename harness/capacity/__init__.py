"""The server under load: crowds of users and closed loops of requests."""
