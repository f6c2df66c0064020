"""Keys and certificates of a federation: an authority, a certificate of the SuperLink, a key pair per site."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shoal.errors import BadInput

__all__ = ["make_authority", "make_keys", "make_site_key"]

DAYS = 825  # that a certificate is good for


def make_keys(folder: Path, hosts: Sequence[str], sites: Sequence[str]) -> None:
    """All that a federation needs to know each other; files that are there already stay.

    Args:
        folder: Where to: `ca.crt`, `ca.key`, `server.crt`, `server.key`, `SITE.key`, `SITE.pub`.
        hosts: Names and addresses by which sites reach the SuperLink.
        sites: Names of sites.

    >>> import tempfile
    >>> make_keys(folder := Path(tempfile.mkdtemp()), ["127.0.0.1"], ["north"])
    >>> sorted(path.name for path in folder.iterdir())
    ['ca.crt', 'ca.key', 'north.key', 'north.pub', 'server.crt', 'server.key']
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "server.crt").exists():
        make_authority(folder, hosts)
    for site in sites:
        make_site_key(folder, site)


def make_authority(folder: Path, hosts: Sequence[str]) -> None:
    """An authority, and a certificate of the SuperLink that it signs; the authority that is there stays.

    To renew the SuperLink's certificate, remove `server.crt` and call this again.

    Args:
        folder: Where to.
        hosts: Names and addresses of the SuperLink.
    """
    if not hosts:
        raise BadInput("a certificate needs at least one host: the name by which sites reach the SuperLink")
    if (folder / "ca.crt").exists() != (folder / "ca.key").exists():
        raise BadInput(f"{folder} holds one of ca.crt and ca.key: put the other one back, or begin in a new folder")
    authority, server = (kept_or_new(folder / f"{name}.key") for name in ("ca", "server"))
    issuer = named("Shoal federation")
    ca = certificate(issuer, issuer, authority.public_key()).add_extension(x509.BasicConstraints(True, 0), True)
    ca = ca.add_extension(x509.SubjectKeyIdentifier.from_public_key(authority.public_key()), False)
    ca = ca.add_extension(usage(signs=True), True)
    names = x509.SubjectAlternativeName([as_name(host) for host in hosts])
    signed = certificate(named(hosts[0]), issuer, server.public_key()).add_extension(names, False)
    signed = signed.add_extension(x509.BasicConstraints(False, None), True).add_extension(usage(signs=False), True)
    signed = signed.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False
    ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
    for name, key, made in (("ca", authority, ca), ("server", server, signed)):
        if not (folder / f"{name}.key").exists():
            secret(folder / f"{name}.key", pem(key, serialization.PrivateFormat.PKCS8))
        if not (folder / f"{name}.crt").exists():  # sites know an authority by its certificate: it stays
            crt = made.sign(authority, hashes.SHA384()).public_bytes(serialization.Encoding.PEM)
            (folder / f"{name}.crt").write_bytes(crt)


def kept_or_new(path: Path) -> ec.EllipticCurvePrivateKey:
    """The key of a file, or a fresh one where there is none."""
    if not path.exists():
        return ec.generate_private_key(ec.SECP384R1())
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), None)
    except ValueError as e:
        raise BadInput(f"{path} holds no key: {e}") from e
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise BadInput(f"{path} holds a key of another kind")
    return found


def make_site_key(folder: Path, site: str) -> None:
    """A key pair by which the SuperLink knows a site; one that is there stays. Best made at the site itself.

    Args:
        folder: Where to: `SITE.key` stays at the site, `SITE.pub` goes to the server.
        site: Its name.
    """
    if (folder / f"{site}.pub").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP384R1())
    secret(folder / f"{site}.key", pem(key, serialization.PrivateFormat.OpenSSH))
    form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    (folder / f"{site}.pub").write_bytes(key.public_key().public_bytes(*form) + b"\n")


def certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    """A certificate to be signed, good from an hour ago."""
    begin = datetime.now(UTC) - timedelta(hours=1)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    made = made.serial_number(x509.random_serial_number())
    return made.not_valid_before(begin).not_valid_after(begin + timedelta(days=DAYS))


def usage(signs: bool) -> x509.KeyUsage:
    """What a key is for: signing certificates, or shaking hands."""
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def as_name(host: str) -> x509.GeneralName:
    """A host as certificates name it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def pem(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def secret(path: Path, data: bytes) -> None:
    """A file that nobody else may read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
