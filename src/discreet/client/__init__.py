"""The Python client: a server's data sets with the same verbs as those on disk.

    import discreet as dc

    server = dc.connect("https://tables.example.org", token="dct_…")
    t = server.open("deaths-dp").table(rows=["region"], epsilon="0.5")
    print(t.cost, t.guarantee)
    frame = t.release().to_pandas()

Errors are those of the local API: a refusal is a `Refusal` with its rule and alternatives.
"""

from .remote import RemoteDataSet, RemoteDraft, RemotePreview, RemoteTable, Server, connect
from .remote_custody import NewDataSet

__all__ = [
    "NewDataSet",
    "RemoteDataSet",
    "RemoteDraft",
    "RemotePreview",
    "RemoteTable",
    "Server",
    "connect",
]
