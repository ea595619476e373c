//! TLS as the options ask for it: reads and checks what they name, and says what is wrong with a server's certificate.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod pem;

use std::fmt;
use std::fs;
use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, InconsistentKeys, OtherError, RootCertStore,
    SignatureScheme,
};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::hosts::{self, Server};
use crate::options::{TlsOptions, is_pem, path_of};

const PKCS8: &str = "PRIVATE KEY";
const PKCS1: &str = "RSA PRIVATE KEY";
const SEC1: &str = "EC PRIVATE KEY";

/// What the options name, read and checked.
pub(crate) struct Tls {
    pub(crate) ca: Zeroizing<String>,
    /// Certificate and key.
    pub(crate) identity: Option<(Zeroizing<String>, Zeroizing<String>)>,
    pub(crate) verify_hostname: bool,
    allow_expired_crls: bool,
    /// For a handshake that says what is wrong.
    pub(crate) config: Arc<ClientConfig>,
}

impl Tls {
    /// Whether a server would be told the same, and judged the same.
    pub(crate) fn is_as(&self, other: &Tls) -> bool {
        self.ca == other.ca
            && self.identity == other.identity
            && self.verify_hostname == other.verify_hostname
            && self.allow_expired_crls == other.allow_expired_crls
    }

    /// The error names the option at fault.
    pub(crate) fn read(options: &TlsOptions) -> Result<Tls> {
        let Some(ca) = options.ca.as_ref().filter(|ca| !ca.is_empty()) else {
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
        let (verify_hostname, allow_expired_crls) = (options.verify_hostname, options.allow_expired_crls);
        let revoked = revocation_lists(&ca)?;
        let has_lists = !revoked.is_empty();
        let strict = strict(&ca, revoked, allow_expired_crls, &provider)?;
        let verifier = Inspector { strict, verify_hostname };
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::invalid("tls", error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let certificates = certificates("tls.cert", cert)?;
                let identity =
                    certified(certificates, private_key(key)?, &provider).map_err(|error| match error {
                        rustls::Error::InconsistentKeys(_) => Error::invalid(
                            "tls.key",
                            "is not the key of tls.cert, but that of another certificate",
                        ),
                        error => Error::invalid("tls.key", format!("cannot be used with tls.cert: {error}")),
                    })?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity)))
            }
        };
        if has_lists && !allow_expired_crls {
            // A handshake that resumes another one looks at no certificate, and at no list whose time may have passed since.
            config.resumption = Resumption::disabled();
        }
        Ok(Tls { ca, identity, verify_hostname, allow_expired_crls, config: Arc::new(config) })
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

/// What the whole process does TLS with. A program that has chosen keeps its choice.
fn provider() -> Arc<CryptoProvider> {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been faster.
        let _ = aws_lc_rs::default_provider().install_default();
    }
    CryptoProvider::get_default().expect("installed above").clone()
}

fn read(option: &str, given: &str) -> Result<Zeroizing<String>> {
    // Some editors put a mark before the text, which no line of PEM begins with.
    let unmarked = |text: &str| Zeroizing::new(text.trim_start_matches('\u{feff}').to_owned());
    if is_pem(given) {
        return Ok(unmarked(given));
    }
    let content = match fs::read(given) {
        Ok(content) => Zeroizing::new(content),
        Err(error) => return Err(Error::invalid(option, unreadable(given, &error))),
    };
    match std::str::from_utf8(&content) {
        Ok(text) => Ok(unmarked(text)),
        Err(_) => Err(Error::invalid(
            option,
            format!(
                "the file {given:?} is not PEM, which is text and begins with a line such as -----BEGIN CERTIFICATE-----; {}",
                to_pem(option, &content)
            ),
        )),
    }
}

/// What makes PEM of a file that is none.
fn to_pem(option: &str, content: &[u8]) -> &'static str {
    // A sequence whose length takes two bytes, and then the version that each file of PKCS#12 begins with.
    match content {
        [0x30, 0x82, _, _, 2, 1, 3, ..] => {
            "if it is PKCS#12: openssl pkcs12 -in FILE -nodes -out FILE.pem has certificates and key"
        }
        _ if option == "tls.key" => "if it is DER: openssl pkey -inform DER -in FILE -out FILE.pem",
        _ => "if it is DER: openssl x509 -inform DER -in FILE -out FILE.pem",
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
    let found = decoded(option, text, "CERTIFICATE")?;
    match found.is_empty() {
        false => Ok(found),
        true => {
            Err(Error::invalid(option, "holds no certificate; it must be PEM (-----BEGIN CERTIFICATE-----)"))
        }
    }
}

/// What of one kind there is. The text of an error does not repeat what was given.
fn decoded<T: From<Vec<u8>>>(option: &str, text: &str, kind: &str) -> Result<Vec<T>> {
    let of = |section: Result<pem::Section<'_>, &str>| match section {
        Ok(mut section) => Ok(T::from(std::mem::take(&mut *section.der))),
        Err(problem) => Err(Error::invalid(option, format!("is not usable PEM: {problem}"))),
    };
    pem::sections(text, &[kind]).map(of).collect()
}

/// The same of the first key.
fn private_key(text: &str) -> Result<Zeroizing<PrivateKeyDer<'static>>> {
    if let Some(Ok(mut section)) = pem::sections(text, &[PKCS8, PKCS1, SEC1]).next() {
        // Moved, and not copied: whoever has it now overwrites it.
        let der = std::mem::take(&mut *section.der);
        return Ok(Zeroizing::new(match section.kind {
            PKCS1 => PrivateKeyDer::Pkcs1(der.into()),
            SEC1 => PrivateKeyDer::Sec1(der.into()),
            _ => PrivateKeyDer::Pkcs8(der.into()),
        }));
    }
    let problem = match () {
        () if text.contains("ENCRYPTED") => {
            "is encrypted; give it without a passphrase (openssl pkey -in KEY -out PLAIN)"
        }
        () if text.contains("-----BEGIN OPENSSH PRIVATE KEY-----") => {
            "is in the format of OpenSSH; make PEM of a copy (ssh-keygen -p -N '' -m PKCS8 -f COPY)"
        }
        () => "holds no private key; it must be PEM (-----BEGIN PRIVATE KEY-----)",
    };
    Err(Error::invalid("tls.key", problem))
}

/// The certificates with the key that signs for them. What the key was read from is overwritten.
fn certified(
    certificates: Vec<CertificateDer<'static>>,
    key: Zeroizing<PrivateKeyDer<'static>>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, rustls::Error> {
    let key = match is_usual(provider) {
        true => aws_lc_rs::sign::any_supported_type(&key)?,
        // Another provider wants it for good, and whether it overwrites it is up to that one.
        false => provider.key_provider.load_private_key(key.clone_key())?,
    };
    let certified = CertifiedKey::new(certificates, key);
    match certified.keys_match() {
        // A provider need not tell the public half of a key.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(error) => Err(error),
    }
}

/// Whether keys are read by what this library is built with. Types of providers cannot be compared, but all have a name.
fn is_usual(provider: &CryptoProvider) -> bool {
    format!("{:?}", provider.key_provider) == format!("{:?}", aws_lc_rs::default_provider().key_provider)
}

fn revocation_lists(ca: &str) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    decoded("tls.ca", ca, "X509 CRL")
}

fn strict(
    ca: &str,
    revoked: Vec<CertificateRevocationListDer<'static>>,
    allow_expired_crls: bool,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("tls.ca", ca)? {
        roots
            .add(certificate)
            .map_err(|error| Error::invalid("tls.ca", format!("holds a certificate of no use: {error}")))?;
    }
    let lenient =
        WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).with_crls(revoked);
    let builder = if allow_expired_crls { lenient } else { lenient.enforce_revocation_expiration() };
    builder.build().map_err(|error| {
        let problem = format!(
            "holds a revocation list of no use ({error}); it must be of version 2 and have a number, as openssl makes it with \
             crl_extensions and crlnumber"
        );
        Error::invalid("tls.ca", problem)
    })
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
        error => in_words(error),
    }
}

/// What is wrong with a certificate of which nothing is known but that.
pub(crate) fn in_words(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "its certificate was signed by an authority that is not in tls.ca; name the right one there, or have the server \
             show the certificates in between as well"
                .to_owned()
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
                CertificateError::NotValidForNameContext { presented, .. } => shown(presented),
                _ => String::new(),
            };
            match names.is_empty() {
                true => "its certificate names no host in its subjectAltName, and its common name does not count; have it \
                         renewed, or turn tls.verify_hostname off"
                    .to_owned(),
                false => format!(
                    "its certificate is for other hosts ({names}); name it so in the connect string, have it renewed, or \
                     turn tls.verify_hostname off"
                ),
            }
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not one for servers (serverAuth is not in its extendedKeyUsage); have it renewed".to_owned()
        }
        CertificateError::UnknownRevocationStatus => {
            "nobody says whether its certificate was revoked, or one that leads to it: tls.ca has revocation lists, but not \
             that of the authority that signed it; add that one, or take all lists out"
                .to_owned()
        }
        CertificateError::ExpiredRevocationList => stale_list(""),
        CertificateError::ExpiredRevocationListContext { time, next_update } => {
            let since = days(time.as_secs().saturating_sub(next_update.as_secs()));
            stale_list(&format!(", {since} ago"))
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate, or one that leads to it, was signed with what is not trusted any more, such as SHA-1; have it \
             renewed with SHA-256 or better"
                .to_owned()
        }
        CertificateError::BadSignature => {
            "a signature does not fit its certificate; if its key is of RSA, that may be too short: it takes 2048 bits or more"
                .to_owned()
        }
        CertificateError::Other(other) if other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity) => {
            "its certificate is that of an authority (CA:TRUE in its basicConstraints), which may sign others and serve \
             nobody; have one made for the server, with CA:FALSE"
                .to_owned()
        }
        CertificateError::Other(other) if other.0.downcast_ref() == Some(&webpki::Error::EndEntityUsedAsCa) => {
            "its certificate was signed by one that is no authority (CA:FALSE, or no basicConstraints); have it signed by one \
             that is"
                .to_owned()
        }
        CertificateError::Other(other)
            if other.0.downcast_ref() == Some(&webpki::Error::UnsupportedCertVersion) =>
        {
            "its certificate is of version 1, which can name no host; have it renewed with a subjectAltName, which makes it \
             version 3"
                .to_owned()
        }
        CertificateError::Revoked => "its certificate was revoked by a list in tls.ca; renew it on the server".to_owned(),
        error => format!("its certificate is refused as one that leads to tls.ca: {error}"),
    }
}

fn stale_list(since: &str) -> String {
    format!(
        "nobody says whether its certificate was revoked lately: the time of the revocation list in tls.ca has passed{since}; put \
         the newest one there, set the clock of this machine, or accept old ones with tls.allow_expired_crls"
    )
}

/// Names as people write them.
fn shown(presented: &[String]) -> String {
    let plain = |name: &String| match name.split_once('(') {
        Some((_, inner)) => inner.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.clone(),
    };
    presented.iter().map(plain).collect::<Vec<_>>().join(", ")
}

fn days(seconds: u64) -> String {
    match seconds / 86_400 {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
#[path = "../tests/support/freed.rs"]
pub(crate) mod freed;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Nobody's, and trusted by nobody.
    pub(crate) const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBODCB66ADAgECAhQVHuifkVzDYqhXaOD1XRssKIG3wjAFBgMrZXAwETEPMA0G\n\
A1UEAwwGbm9ib2R5MCAXDTI2MTEyNjIwNDEwM1oYDzIxMjYxMTAyMjA0MTAzWjAR\n\
MQ8wDQYDVQQDDAZub2JvZHkwKjAFBgMrZXADIQDdAx2i2FnkGQxkoESzpWrnnZ5t\n\
in+srtpJMGmcshwqI6NTMFEwHQYDVR0OBBYEFA1yH6kkwZkLqxKQpvynxLdQDyXp\n\
MB8GA1UdIwQYMBaAFA1yH6kkwZkLqxKQpvynxLdQDyXpMA8GA1UdEwEB/wQFMAMB\n\
Af8wBQYDK2VwA0EAN05oywdiUb7/dF9l5yfpa8dwQzHd8QxLi3zfk8P522LQ43Kz\n\
J9a0Bv1nPoDJCySmGTYK0FfUBHR2u97bQs1qBQ==\n\
-----END CERTIFICATE-----\n\
";
    pub(crate) const KEY: &str = "\
-----BEGIN PRIVATE KEY-----\n\
MC4CAQAwBQYDK2VwBCIEICD36meTl2F8HyVAJPTnQihSLRCWx5F8AzTuWfoVvZ/Z\n\
-----END PRIVATE KEY-----\n\
";
    /// The end of it, as it stands in DER.
    const SECRET: &[u8] =
        &[0x52, 0x2d, 0x10, 0x96, 0xc7, 0x91, 0x7c, 0x03, 0x34, 0xee, 0x59, 0xfa, 0x15, 0xbd, 0x9f, 0xd9];

    /// The same, as it stands in PEM.
    const BASE64: &[u8] = b"nQihSLRCWx5F8AzTuWfoVv";

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
        assert!(problem(base().ca("")).starts_with("invalid tls.ca: is missing"));
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

    #[test]
    fn what_a_key_was_read_from_is_overwritten() {
        let both: &str = &format!("{CERTIFICATE}{KEY}");
        let options = TlsOptions::default;
        assert!(is_usual(&provider()));
        for (options, what) in [
            (options().ca(CERTIFICATE).cert(CERTIFICATE).key(KEY), "by itself"),
            (options().ca(both).cert(both).key(both), "beside its certificate"),
        ] {
            for (secret, form) in [(SECRET, "DER"), (BASE64, "Base64")] {
                let freed = freed::holding(secret, || _ = Tls::read(&options).expect("it is of use").config);
                assert_eq!(freed, 0, "{what}, in {form}");
            }
        }
        // What is wrong is at its end, behind most of it.
        let garbled: &str = &KEY.replace("Z/Z", "Z/!");
        for (options, what) in [
            (options().ca(CERTIFICATE).cert(CERTIFICATE).key(garbled), "a key"),
            (options().ca(CERTIFICATE).cert(garbled).key(KEY), "a key as a certificate"),
        ] {
            for secret in [&SECRET[..12], BASE64] {
                let freed = freed::holding(secret, || _ = Tls::read(&options).err().expect(what));
                assert_eq!(freed, 0, "{what}");
            }
        }
        let copied = freed::holding(SECRET, || drop(private_key(KEY).expect("a key").clone_key()));
        assert_eq!(copied, 1, "a copy is seen");
        let copied = freed::holding(BASE64, || drop(KEY.to_owned()));
        assert_eq!(copied, 1, "a copy is seen");
    }
}
