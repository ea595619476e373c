//! TLS as the options ask for it: reads and checks what they name, and says what is wrong with a server's certificate.

use std::fmt;
use std::fs;
use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::hosts::{self, Server};
use crate::options::{TlsOptions, is_pem, path_of};

/// What the options name, read and checked.
pub(crate) struct Tls {
    pub(crate) ca: Zeroizing<String>,
    /// Certificate and key.
    pub(crate) identity: Option<(Zeroizing<String>, Zeroizing<String>)>,
    pub(crate) verify_hostname: bool,
    /// For a handshake that says what is wrong.
    pub(crate) config: Arc<ClientConfig>,
}

impl Tls {
    /// Whether a server would be told the same, and judged the same.
    pub(crate) fn is_as(&self, other: &Tls) -> bool {
        self.ca == other.ca
            && self.identity == other.identity
            && self.verify_hostname == other.verify_hostname
    }

    /// The error names the option at fault.
    pub(crate) fn read(options: &TlsOptions) -> Result<Tls> {
        let Some(ca) = &options.ca else {
            let problem =
                "is missing; name the PEM file of the authority that signed the servers' certificates";
            return Err(Error::invalid("tls.ca", problem));
        };
        let ca = read("tls.ca", ca)?;
        let identity = match (&options.cert, &options.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((read("tls.cert", cert)?, read("tls.key", key)?)),
            (Some(_), None) => {
                return Err(Error::invalid("tls.key", "is missing although tls.cert is given"));
            }
            (None, Some(_)) => {
                return Err(Error::invalid("tls.cert", "is missing although tls.key is given"));
            }
        };
        let provider = provider();
        let verifier =
            Inspector { strict: strict(&ca, &provider)?, verify_hostname: options.verify_hostname };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::invalid("tls", error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match &identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                builder.with_client_auth_cert(certificates("tls.cert", cert)?, private_key(key)?).map_err(
                    |error| Error::invalid("tls.key", format!("cannot be used with tls.cert: {error}")),
                )?
            }
        };
        Ok(Tls { ca, identity, verify_hostname: options.verify_hostname, config: Arc::new(config) })
    }
}

/// Refuses a host that no certificate could name.
pub(crate) fn check_names(hosts: &str) -> Result<()> {
    let is_name = |server: &Server| ServerName::try_from(&*server.host).is_ok();
    match hosts::servers(hosts).into_iter().find(|server| !is_name(server)) {
        None => Ok(()),
        Some(Server { host, .. }) => Err(Error::invalid(
            "hosts",
            format!("{host:?} is no name that a certificate can bear (option tls)"),
        )),
    }
}

/// What the whole process does TLS with. A program that has chosen keeps its choice, and the crate below heeds it.
fn provider() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been faster.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    CryptoProvider::get_default().expect("installed above").clone()
}

fn read(option: &str, given: &str) -> Result<Zeroizing<String>> {
    if is_pem(given) {
        return Ok(Zeroizing::new(given.to_owned()));
    }
    match fs::read_to_string(given) {
        Ok(text) => Ok(Zeroizing::new(text)),
        Err(error) => Err(Error::invalid(option, unreadable(given, &error))),
    }
}

/// It may be a private key that lacks its first line.
fn unreadable(given: &str, error: &io::Error) -> String {
    match path_of(given) {
        Some(path) => format!("the file {path:?} cannot be read: {error}"),
        None => {
            "is neither PEM, which begins with a line such as -----BEGIN PRIVATE KEY-----, nor a file that can be read; it is \
             not repeated here, because it may be a key"
                .to_owned()
        }
    }
}

fn certificates(option: &str, text: &str) -> Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, pem::Error>>();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => {
            Err(Error::invalid(option, "holds no certificate; it must be PEM (-----BEGIN CERTIFICATE-----)"))
        }
        Err(error) => Err(unusable(option, &error)),
    }
}

/// The crate's own words repeat lines of what was given.
fn unusable(option: &str, error: &pem::Error) -> Error {
    let problem = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end (-----END CERTIFICATE-----)",
        pem::Error::IllegalSectionStart { .. } => {
            "a section does not begin as it should (-----BEGIN CERTIFICATE-----)"
        }
        pem::Error::Base64Decode(_) => "a section is not Base64",
        _ => "it cannot be read",
    };
    Error::invalid(option, format!("is not usable PEM: {problem}"))
}

/// The text of an error does not repeat what was given.
fn private_key(text: &str) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| {
        let problem = match text.contains("ENCRYPTED") {
            true => "is encrypted; give it without a passphrase (openssl pkey -in KEY -out PLAIN)",
            false => "holds no private key; it must be PEM (-----BEGIN PRIVATE KEY-----)",
        };
        Error::invalid("tls.key", problem)
    })
}

fn strict(ca: &str, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("tls.ca", ca)? {
        roots
            .add(certificate)
            .map_err(|error| Error::invalid("tls.ca", format!("holds a certificate of no use: {error}")))?;
    }
    let revoked = CertificateRevocationListDer::pem_slice_iter(ca.as_bytes()).collect::<Result<Vec<_>, _>>();
    let revoked = revoked.map_err(|error| unusable("tls.ca", &error))?;
    WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .with_crls(revoked)
        .build()
        .map_err(|error| Error::invalid("tls.ca", error))
}

/// Verifies as the options ask, and puts what is wrong into words.
#[derive(Debug)]
struct Inspector {
    strict: Arc<WebPkiServerVerifier>,
    verify_hostname: bool,
}

/// What is wrong with a server's certificate, and what to do.
#[derive(Debug)]
pub(crate) struct Complaint(String);

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Complaint {}

impl ServerCertVerifier for Inspector {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let error = match self.strict.verify_server_cert(certificate, between, name, stapled, now) {
            Err(rustls::Error::InvalidCertificate(error)) => error,
            otherwise => return otherwise,
        };
        // The name is looked at last.
        let is_name = matches!(
            error,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        );
        if is_name && !self.verify_hostname {
            return Ok(ServerCertVerified::assertion());
        }
        let complaint = Complaint(complaint(&error, certificate));
        Err(CertificateError::Other(OtherError(Arc::new(complaint))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.strict.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.strict.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.strict.supported_verify_schemes()
    }
}

fn complaint(error: &CertificateError, certificate: &CertificateDer<'_>) -> String {
    let is_self_signed =
        webpki::EndEntityCert::try_from(certificate).is_ok_and(|cert| cert.issuer() == cert.subject());
    match error {
        CertificateError::UnknownIssuer if is_self_signed => {
            "its certificate is self-signed and not among the authorities of tls.ca; put it there, or have it signed by one \
             of them"
                .to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate was signed by an authority that is not in tls.ca; name the right one there".to_owned()
        }
        CertificateError::Expired => "its certificate has expired; renew it on the server".to_owned(),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "its certificate has expired {} ago; renew it on the server, or set the clock of this machine",
            days(time.as_secs().saturating_sub(not_after.as_secs()))
        ),
        CertificateError::NotValidYet => "its certificate is not valid yet".to_owned(),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "its certificate is valid in {} only; wait, or set the clock of this machine",
            days(not_before.as_secs().saturating_sub(time.as_secs()))
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let names = match error {
                CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
                    presented.join(", ")
                }
                _ => "none".to_owned(),
            };
            format!(
                "its certificate is for other hosts ({names}); name it so in the connect string, have it renewed, or turn \
                 tls.verify_hostname off"
            )
        }
        CertificateError::Revoked => "its certificate was revoked by a list in tls.ca; renew it on the server".to_owned(),
        error => format!("its certificate is refused as one that leads to tls.ca: {error}"),
    }
}

fn days(seconds: u64) -> String {
    match seconds / 86_400 {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(options: TlsOptions) -> String {
        match Tls::read(&options) {
            Ok(_) => panic!("{options:?} is refused"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_and_not_repeated() {
        let base = TlsOptions::default;
        let junk = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
        assert!(problem(base()).starts_with("invalid tls.ca: is missing"));
        assert!(problem(base().ca("/nowhere/ca.pem")).contains("\"/nowhere/ca.pem\" cannot be read"));
        assert!(problem(base().ca(junk)).starts_with("invalid tls.ca: holds no certificate"));
        assert!(problem(base().ca(junk).cert(junk)).starts_with("invalid tls.key: is missing"));
        assert!(problem(base().ca(junk).key(junk)).starts_with("invalid tls.cert: is missing"));
        let body = "MC4CAQAwBQYDK2VwBCIEIHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==";
        for key in [body, &format!("{body}\n-----END PRIVATE KEY-----\n")] {
            for (option, tls) in [
                ("tls.ca", base().ca(key)),
                ("tls.cert", base().ca(junk).cert(key).key(junk)),
                ("tls.key", base().ca(junk).cert(junk).key(key)),
            ] {
                let error = problem(tls);
                assert!(error.starts_with(&format!("invalid {option}: is neither PEM")), "{error}");
                assert!(!error.contains(&body[..20]), "{error}");
            }
        }
        let garbled = junk.replace("hunter2", "hunter2!");
        for key in [&*garbled, "hunter2", "-----BEGIN hunter2"] {
            let error = private_key(key).expect_err(key).to_string();
            assert!(
                error.starts_with("invalid tls.key: holds no private key") && !error.contains("hunter2"),
                "{error}"
            );
            let error = problem(base().ca(format!("-----BEGIN {key}")));
            assert!(error.starts_with("invalid tls.ca: ") && !error.contains("hunter2"), "{error}");
        }
    }
}
