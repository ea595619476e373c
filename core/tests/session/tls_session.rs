//! What one session says and believes over TLS, connection by connection, with a server of our own. Real ones: `tls.rs`.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::hostile::{self, Hostile};
use crate::support::{options, soon};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{
    DigitallySignedStruct, DistinguishedName, HandshakeKind, ServerConfig, ServerConnection,
    SignatureAlgorithm, SignatureScheme, Stream,
};
use zkrecipes::{Client, Error, ErrorKind, TlsOptions};
use zkrecipes_protocol::{Hello, Op, Reply, RequestHead, Stat, Welcome, Writer, frame_length};

const AUTHORITY: &str = include_str!("../support/certificates/authority.pem");
/// Of localhost and 127.0.0.1, signed by that one; its key is of RSA, and nobody's secret.
const CERTIFICATE: &str = include_str!("../support/certificates/server.pem");
const KEY: &str = include_str!("../support/certificates/server.key");
/// The authority's revocation lists, which revoke nothing: one for long, one whose time has passed.
const LIST: &str = include_str!("../support/certificates/list.pem");
const OLD_LIST: &str = include_str!("../support/certificates/old-list.pem");
const LONG: Duration = Duration::from_secs(20);

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM")
}

fn certified() -> CertifiedKey {
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).expect("PEM");
    CertifiedKey::new(
        vec![certificate(CERTIFICATE)],
        aws_lc_rs::sign::any_supported_type(&key).expect("a key"),
    )
}

/// The certificate that the client showed in a handshake, and whether it was a whole one.
type Handshake = (Option<CertificateDer<'static>>, HandshakeKind);

/// A server over TLS that tells how each handshake went.
struct Shown {
    hostile: Hostile,
    seen: Arc<Mutex<Vec<Handshake>>>,
    /// It hangs up instead of answering.
    breaks: Arc<AtomicBool>,
}

impl Shown {
    fn begin(server: CertifiedKey) -> Shown {
        let config = ServerConfig::builder().with_client_cert_verifier(Arc::new(Anybody));
        let config = Arc::new(config.with_cert_resolver(Arc::new(One(Arc::new(server)))));
        let (seen, breaks) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let (noted, broken) = (seen.clone(), breaks.clone());
        let hostile = Hostile::begin(Arc::new(move |peer| {
            let mut tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
            while tls.is_handshaking() {
                tls.complete_io(&mut peer.socket)?;
            }
            let shown =
                tls.peer_certificates().and_then(|all| all.first()).map(|one| one.clone().into_owned());
            noted.lock().expect("no panic").push((shown, tls.handshake_kind().expect("it is over")));
            serve(&mut Stream::new(&mut tls, &mut peer.socket), &broken)
        }));
        Shown { hostile, seen, breaks }
    }

    fn seen(&self) -> Vec<Handshake> {
        self.seen.lock().expect("no panic").clone()
    }

    async fn connect(&self, tls: TlsOptions) -> Result<Client, Error> {
        soon("connecting", Client::connect(&self.hostile.hosts, options(LONG).tls(tls))).await
    }

    /// The connection breaks, and another one comes.
    async fn break_connection_of(&self, client: &Client) {
        self.breaks.store(true, Ordering::SeqCst);
        soon("an answer", client.nodes().exists("/")).await.expect("over another connection");
        assert!(!self.breaks.load(Ordering::SeqCst));
    }
}

fn serve(stream: &mut (impl Read + Write), breaks: &AtomicBool) -> io::Result<()> {
    let hello = frame(stream)?;
    let session = Hello::read(&hello).map_err(|_| io::ErrorKind::InvalidData)?.session.max(7);
    let welcome = Welcome { timeout: 20_000, session, password: &[3; 16], read_only: Some(false) };
    stream.write_all(&welcome.frame())?;
    loop {
        let request = frame(stream)?;
        let (head, _) = RequestHead::split(&request).map_err(|_| io::ErrorKind::InvalidData)?;
        if head.op == Op::EXISTS && breaks.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let mut answer = Writer::reply(head.xid, 1, 0);
        if head.op == Op::EXISTS {
            Reply::Stat(Stat::default()).write(&mut answer);
        }
        stream.write_all(&answer.finish())?;
    }
}

fn frame(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix)?;
    let mut frame = vec![0; frame_length(prefix, 1 << 20).map_err(|_| io::ErrorKind::InvalidData)?];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}

#[derive(Debug)]
struct One(Arc<CertifiedKey>);

impl ResolvesServerCert for One {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// Takes whatever certificate a client shows, if it shows one.
#[derive(Debug)]
struct Anybody;

impl ClientCertVerifier for Anybody {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// A file with this content, until it is dropped.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str, content: &str) -> Kept {
        let path = std::env::temp_dir().join(format!("zkrecipes-{}-{name}.pem", std::process::id()));
        fs::write(&path, content).expect("written");
        Kept(path)
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_was_renewed_on_disk_counts_from_the_next_connection_on() {
    let server = Shown::begin(certified());
    let (cert, key) = (Kept::new("cert", hostile::CERTIFICATE), Kept::new("key", hostile::KEY));
    let tls = TlsOptions::default().ca(AUTHORITY).cert(cert.path()).key(key.path());
    let client = server.connect(tls).await.expect("trusted");
    let session = client.session_id();
    server.break_connection_of(&client).await;
    for (place, renewed) in [(&cert, CERTIFICATE), (&key, KEY)] {
        fs::write(&place.0, renewed).expect("written");
    }
    server.break_connection_of(&client).await;
    let shown: Vec<_> = server.seen().into_iter().map(|(shown, _)| shown.expect("one is shown")).collect();
    let (old, new) = (certificate(hostile::CERTIFICATE), certificate(CERTIFICATE));
    assert!(shown == [old.clone(), old, new], "the new one is shown last, and only then");
    assert_eq!((client.session_id(), client.metrics().sessions_lost), (session, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_list_counts_until_its_time_has_passed_and_each_connection_is_judged_anew() {
    let server = Shown::begin(certified());
    let with = |list: &str| TlsOptions::default().ca([AUTHORITY, list].concat());
    let error =
        server.connect(with(OLD_LIST)).await.map(drop).expect_err("nobody says what was revoked since");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    for word in ["revocation list in tls.ca", "days ago", "tls.allow_expired_crls"] {
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
    server.connect(with(OLD_LIST).allow_expired_crls(true)).await.expect("that is accepted");

    // Where there is no list, the second handshake is a short one, in which no certificate is looked at.
    for (tls, second) in [(with(LIST), HandshakeKind::Full), (with(""), HandshakeKind::Resumed)] {
        let client = server.connect(tls).await.expect("trusted");
        let before = server.seen().len();
        server.break_connection_of(&client).await;
        assert_eq!(server.seen()[before..].iter().map(|(_, kind)| *kind).collect::<Vec<_>>(), [second]);
    }
}

/// A key that signs as TLS 1.2 lets it, and 1.3 does not.
#[derive(Debug)]
struct AsOf12(Arc<dyn SigningKey>);

impl SigningKey for AsOf12 {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.0.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256])
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_1_3_is_judged_by_its_own_rules_whether_or_not_the_host_is_looked_at() {
    let honest = certified();
    let key = Arc::new(AsOf12(honest.key.clone()));
    let server = Shown::begin(CertifiedKey::new(honest.cert, key));
    for verify_hostname in [true, false] {
        let tls = TlsOptions::default().ca(AUTHORITY).verify_hostname(verify_hostname);
        let error = server.connect(tls).await.map(drop).expect_err("signed by the rules of 1.2");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    }
    assert!(server.seen().is_empty(), "no handshake came about");
}
