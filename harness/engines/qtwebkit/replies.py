"""QtWebKit's network: which protocol each request may use, and a log line for what became of it.

Runs in Debian's Python with PyQt, not in ours: it imports nothing of the project.
"""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PyQt5.QtCore import QIODevice, QUrl
from PyQt5.QtNetwork import (
    QNetworkAccessManager,
    QNetworkProxy,
    QNetworkReply,
    QNetworkRequest,
    QSsl,
    QSslCertificate,
    QSslConfiguration,
    QSslError,
    QSslSocket,
)

OPERATIONS = {
    QNetworkAccessManager.HeadOperation: "HEAD",
    QNetworkAccessManager.GetOperation: "GET",
    QNetworkAccessManager.PutOperation: "PUT",
    QNetworkAccessManager.PostOperation: "POST",
    QNetworkAccessManager.DeleteOperation: "DELETE",
}
SCHEMES = ("http", "https")
# What WebKit reads from a reply beside its headers.
COPIED = (
    QNetworkRequest.HttpStatusCodeAttribute,
    QNetworkRequest.HttpReasonPhraseAttribute,
    QNetworkRequest.RedirectionTargetAttribute,
    QNetworkRequest.ConnectionEncryptedAttribute,
    QNetworkRequest.SourceIsFromCacheAttribute,
)
# A session is used once: neither by ticket nor by number, nor shared between the connections to a host.
NO_RESUMPTION = (
    QSsl.SslOptionDisableSessionTickets,
    QSsl.SslOptionDisableSessionSharing,
    QSsl.SslOptionDisableSessionPersistence,
)


@dataclass(frozen=True)
class RequestSettings:
    """What the requests of a process may use; `authority` is the one certificate they trust, a file in PEM. So is
    `substitute`, which is taken for any name.

    All are made under `scheme`, as the server has no other: scripts put links together that no rewriting finds.
    """

    pipelining: bool
    spdy: bool
    scheme: str
    proxy_port: int
    authority: str
    substitute: str | None
    tls: str


class Log:
    """Lines of JSON, each written whole at once, so that a killed process leaves what it had seen."""

    def __init__(self, path: Path, *, bodies: bool) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._count = 0
        self.bodies = bodies  # whether it holds those of answers, too
        self.document: list[dict[str, object]] = []  # what is known of the requests for the page itself

    def begin(self, url: str, method: str, sent: dict[str, str], *, document: bool) -> int:
        """A request starts; returns its number, from 0. Those for the document come first, a redirect each but one."""
        number, self._count = self._count, self._count + 1
        if document:
            self.document.append({})
        self.note(number, url=url, method=method, document=document, started_ms=now_ms(), sent=sent)
        return number

    def note(self, number: int, **found: object) -> None:
        """Something more is known of a request."""
        if number < len(self.document):
            self.document[number].update(found)
        self.detail(number, **found)

    def detail(self, number: int, **found: object) -> None:
        """`note` what nobody asks for while the page loads: headers and bodies."""
        self._file.write(json.dumps({"request": number, **found}) + "\n")
        self._file.flush()


class Manager(QNetworkAccessManager):
    """Makes the requests of the page, each with our settings alone: WebKit's own would allow HTTP/2.

    `awaits_document`: until the document is there, every request is one for it. QtWebKit follows a redirect by another.
    """

    def __init__(self, settings: RequestSettings, log: Log) -> None:
        super().__init__()
        self._settings = settings
        self._log = log
        self._security = _security(settings)
        self._mismatches = _mismatches(settings)
        self.awaits_document = True
        self._replies: list[Reply] = []  # Python must not collect what Qt still calls
        self.setProxy(QNetworkProxy(QNetworkProxy.Socks5Proxy, "127.0.0.1", settings.proxy_port))

    def createRequest(self, operation: Any, request: Any, data: Any = None) -> Any:  # noqa: N802 - Qt's name
        chosen = QNetworkRequest(request)
        url = chosen.url()
        if url.scheme() in SCHEMES and url.scheme() != self._settings.scheme:
            url.setScheme(self._settings.scheme)  # the reply keeps the page's own: it never knows
            chosen.setUrl(url)
        chosen.setAttribute(QNetworkRequest.HttpPipeliningAllowedAttribute, self._settings.pipelining)
        chosen.setAttribute(QNetworkRequest.SpdyAllowedAttribute, self._settings.spdy)
        chosen.setAttribute(QNetworkRequest.HTTP2AllowedAttribute, False)
        if chosen.url().scheme() == "https":
            chosen.setSslConfiguration(self._security)
        inner = super().createRequest(operation, chosen, data)
        if self._mismatches:
            inner.ignoreSslErrors(self._mismatches)
        if chosen.url().scheme() not in SCHEMES:
            return inner
        reply = Reply(self, inner, request, self._log, document=self.awaits_document)
        self._replies.append(reply)
        return reply


class Reply(QNetworkReply):
    """Stands between WebKit and Qt's reply, which a request that the page takes back leaves to go on to its end.

    Qt leaves the rest of a cancelled SPDY stream unread, loses the framing, and the whole session hangs
    (QSpdyProtocolHandler::handleDataFrame). All protocols have this reply, so that its cost is no difference.
    """

    def __init__(self, manager: Manager, inner: Any, request: Any, log: Log, *, document: bool) -> None:
        super().__init__(manager)
        self._inner = inner
        self._log = log
        self._number = log.begin(
            _as_sent(inner.url()), _method(inner), _headers(inner.request()), document=document
        )
        self._given_up = False
        self._body_bytes = 0
        self._body = bytearray()
        self._answered = False
        self.setRequest(request)
        self.setOperation(inner.operation())
        self.setUrl(request.url())
        self.open(QIODevice.ReadOnly | QIODevice.Unbuffered)
        inner.metaDataChanged.connect(self._on_headers)
        inner.readyRead.connect(self._on_data)
        inner.finished.connect(self._on_end)
        inner.downloadProgress.connect(self._on_progress)
        inner.uploadProgress.connect(self.uploadProgress)

    def _on_headers(self) -> None:
        status = self._inner.attribute(QNetworkRequest.HttpStatusCodeAttribute)
        if status is not None and not self._answered:
            self._answered = True
            mime = _text(self._inner.rawHeader(b"Content-Type"))
            facts = {"mime": mime, **_proofs(self._inner)}
            self._log.note(self._number, answered_ms=now_ms(), status=int(status), **facts)
            self._log.detail(self._number, **_heads(self._inner))
        if not self._given_up:
            self._copy_head()
            self.metaDataChanged.emit()

    def _on_progress(self, received: int, total: int) -> None:
        self._body_bytes = received
        if not self._given_up:
            self.downloadProgress.emit(received, total)

    def _on_data(self) -> None:
        if not self._given_up:
            self.readyRead.emit()

    def _on_end(self) -> None:
        if self._given_up:
            return
        error = self._inner.error()
        text = self._inner.errorString() if error else None
        self._note_end(error, text)
        self._copy_head()
        if error:
            self.setError(error, self._inner.errorString())
        self.setFinished(True)
        if error:
            self.errorOccurred.emit(error)
        self.finished.emit()

    def _note_end(self, error: Any, text: str | None) -> None:
        self._log.note(
            self._number, ended_ms=now_ms(), error=int(error), error_text=text, body_bytes=self._body_bytes
        )
        if self._log.bodies:
            self._body += bytes(self._inner.peek(self._inner.bytesAvailable()))
            self._log.detail(self._number, body=base64.b64encode(self._body).decode("ascii"))

    def _copy_head(self) -> None:
        for name, value in self._inner.rawHeaderPairs():
            self.setRawHeader(name, value)
        for attribute in COPIED:
            value = self._inner.attribute(attribute)
            if value is not None:
                self.setAttribute(attribute, value)

    def bytesAvailable(self) -> int:  # noqa: N802
        return 0 if self._given_up else int(super().bytesAvailable() + self._inner.bytesAvailable())

    def isSequential(self) -> bool:  # noqa: N802
        return True

    def readData(self, most: int) -> bytes | None:  # noqa: N802
        data = None if self._given_up else self._inner.read(most) or b""
        if data and self._log.bodies:
            self._body += data
        return data

    def abort(self) -> None:
        if self._given_up or self.isFinished():
            return
        self._given_up = True
        self._note_end(QNetworkReply.OperationCanceledError, "the page took the request back")
        self.setError(QNetworkReply.OperationCanceledError, "Operation canceled")
        self.setFinished(True)
        self.errorOccurred.emit(QNetworkReply.OperationCanceledError)
        self.finished.emit()

    def ignoreSslErrors(self, *_: Any) -> None:  # noqa: N802
        """A wrong certificate stays an error."""


def _as_sent(url: Any) -> str:
    """The URL as it travels, and so as the server's log has it: Qt's own text would have %20 as a space.

    Qt takes one slash for several at the beginning of a path, and leaves out dots (QHttpNetworkRequest::uri).
    """
    origin = url.toEncoded(QUrl.RemovePath | QUrl.RemoveQuery | QUrl.RemoveFragment)
    target = url.toEncoded(
        QUrl.RemoveScheme | QUrl.RemoveAuthority | QUrl.RemoveFragment | QUrl.NormalizePathSegments
    )
    return (bytes(origin) + (b"" if target.startsWith(b"/") else b"/") + bytes(target)).decode("ascii")


def _method(reply: Any) -> str:
    custom = bytes(reply.request().attribute(QNetworkRequest.CustomVerbAttribute) or b"").decode("latin-1")
    return OPERATIONS.get(reply.operation(), custom)


def _headers(request: Any) -> dict[str, str]:
    """The headers that WebKit sets, by names in lower case; Qt adds some of its own."""
    return {_text(name).lower(): _text(request.rawHeader(name)) for name in request.rawHeaderList()}


def _text(raw: Any) -> str:
    return bytes(raw).decode("latin-1")


_EPOCH_S = time.time() - time.perf_counter()


def now_ms() -> float:
    """Milliseconds since 1970, by a clock that is never set back or forth in the life of the process."""
    return round((_EPOCH_S + time.perf_counter()) * 1000, 3)


def _proofs(reply: Any) -> dict[str, object]:
    """By what the answer came, as Qt tells."""
    proofs: dict[str, object] = {
        "pipelined": bool(reply.attribute(QNetworkRequest.HttpPipeliningWasUsedAttribute)),
        "spdy": bool(reply.attribute(QNetworkRequest.SpdyWasUsedAttribute)),
        "h2": bool(reply.attribute(QNetworkRequest.HTTP2WasUsedAttribute)),
    }
    if reply.attribute(QNetworkRequest.ConnectionEncryptedAttribute):
        security = reply.sslConfiguration()
        proofs["tls"] = TLS_NAMES.get(security.sessionProtocol(), str(security.sessionProtocol()))
        proofs["cipher"] = security.sessionCipher().name()
        proofs["alpn"] = bytes(security.nextNegotiatedProtocol()).decode("latin-1")
    return proofs


def _heads(reply: Any) -> dict[str, object]:
    """The headers of the answer, and its reason."""
    reason = reply.attribute(QNetworkRequest.HttpReasonPhraseAttribute)
    return {
        "answered_with": [(_text(name), _text(value)) for name, value in reply.rawHeaderPairs()],
        "reason": "" if reason is None else str(reason),
    }


TLS_NAMES = {
    QSsl.TlsV1_0: "TLS 1.0",
    QSsl.TlsV1_1: "TLS 1.1",
    QSsl.TlsV1_2: "TLS 1.2",
    QSsl.TlsV1_3: "TLS 1.3",
}


def _security(settings: RequestSettings) -> Any:
    """One version of TLS without resumption, trusting one authority and none of the system's."""
    made = QSslConfiguration.defaultConfiguration()
    made.setCaCertificates(QSslCertificate.fromPath(settings.authority))
    made.setPeerVerifyMode(QSslSocket.VerifyPeer)
    made.setProtocol({"1.2": QSsl.TlsV1_2, "1.3": QSsl.TlsV1_3}[settings.tls])
    for option in NO_RESUMPTION:
        made.setSslOption(option, True)
    return made


def _mismatches(settings: RequestSettings) -> list[Any]:
    """What is no error of a certificate: that the substitute is for another name."""
    certificates = QSslCertificate.fromPath(settings.substitute)[:1] if settings.substitute else []
    return [QSslError(QSslError.HostNameMismatch, certificate) for certificate in certificates]
