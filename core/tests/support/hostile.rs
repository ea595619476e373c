//! A server of a test's own that does what no server should, and the certificate that it shows.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use zkrecipes_protocol::{Op, Reply, RequestHead, Stat, Welcome, Writer, XID_PING, frame_at, frame_length};

/// Trusted by nobody else.
pub const AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBNjCB6aADAgECAhRU3jq5BbF4DdENAFQuRAzztDEoiDAFBgMrZXAwEDEOMAwG\n\
A1UEAwwFdGVzdHMwIBcNMjYxMTI3MDEwMTQ1WhgPMjEyNjExMDMwMTAxNDVaMBAx\n\
DjAMBgNVBAMMBXRlc3RzMCowBQYDK2VwAyEAg+a98vK38Ci4/ZXhJow9KRt9CKZh\n\
1NMn4ul6zqFP8+ijUzBRMB0GA1UdDgQWBBS+P7NSwwSGqV8+tNaj8a9E8h+F/zAf\n\
BgNVHSMEGDAWgBS+P7NSwwSGqV8+tNaj8a9E8h+F/zAPBgNVHRMBAf8EBTADAQH/\n\
MAUGAytlcANBABwtIYmxtCeA0wrbAImAL13ITWJ2rGr/DkZV9ikuO4BeDSHM6TWd\n\
9NEm/EBsiHgR7GXuNy3Jm1BK+0kVfhjz9Ac=\n\
-----END CERTIFICATE-----\n\
";
/// Of localhost and 127.0.0.1.
pub const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBZjCCARigAwIBAgIUYLbyKsOUV2749xzCl4SEY/kseuUwBQYDK2VwMBAxDjAM\n\
BgNVBAMMBXRlc3RzMCAXDTI2MTEyNzAxMDE0NVoYDzIxMjYxMTAzMDEwMTQ1WjAU\n\
MRIwEAYDVQQDDAlsb2NhbGhvc3QwKjAFBgMrZXADIQA8XA6TkrXw1ridsL1Cx7Il\n\
fgoRMQINzTXIXHOEncoU1aN+MHwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAAB\n\
MAkGA1UdEwQCMAAwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFPcjnBiW\n\
iWk7B444NST0183QZZPXMB8GA1UdIwQYMBaAFL4/s1LDBIapXz601qPxr0TyH4X/\n\
MAUGAytlcANBAEIrHTWF0dE8d5Obdu0AukMokiXkyE+nIGqu1ufp280qaHXX7kDQ\n\
qIL6rShI6h3TsrGWrXmT6VZw8dkBqop68gQ=\n\
-----END CERTIFICATE-----\n\
";
/// Nobody's secret.
pub const KEY: &str = "\
-----BEGIN PRIVATE KEY-----\n\
MC4CAQAwBQYDK2VwBCIEIF67Jq0ol1cLSOAUVLiJImKEnIFNT38ofUt41oPIEFne\n\
-----END PRIVATE KEY-----\n\
";

/// What is done on each connection; an error ends it.
pub type Trick = Arc<dyn Fn(&mut Peer) -> io::Result<()> + Send + Sync>;

pub struct Hostile {
    pub hosts: String,
    connections: Arc<AtomicUsize>,
}

impl Hostile {
    /// Lives as long as the test program.
    pub fn begin(trick: Trick) -> Hostile {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let hosts = listener.local_addr().expect("bound").to_string();
        let connections = Arc::<AtomicUsize>::default();
        let counted = connections.clone();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                let trick = trick.clone();
                thread::spawn(move || {
                    let mut peer = Peer { socket };
                    let _ = trick(&mut peer);
                    peer.socket.shutdown(Shutdown::Both)
                });
            }
        });
        Hostile { hosts, connections }
    }

    /// How often somebody has connected.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Somebody who has connected.
pub struct Peer {
    pub socket: TcpStream,
}

impl Peer {
    /// One frame, without its length.
    pub fn frame(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.socket.read_exact(&mut length)?;
        let length = frame_length(length, 1 << 20).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut frame = vec![0; length];
        self.socket.read_exact(&mut frame)?;
        Ok(frame)
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Grants a session.
    pub fn welcome(&mut self) -> io::Result<()> {
        self.frame()?;
        self.send(&welcome())
    }

    /// The next request that is no ping: its number and kind.
    pub fn asked(&mut self) -> io::Result<(i32, Op)> {
        loop {
            let frame = self.frame()?;
            let (head, _) = RequestHead::split(&frame).map_err(|_| io::ErrorKind::InvalidData)?;
            match head.xid {
                XID_PING => self.send(&Writer::reply(XID_PING, 0, 0).finish())?,
                xid => return Ok((xid, head.op)),
            }
        }
    }

    /// Until the other end has enough of it.
    pub fn flood(&mut self, bytes: &[u8]) -> io::Result<()> {
        loop {
            self.send(bytes)?;
        }
    }

    /// Says nothing more until the other end goes.
    pub fn stall(&mut self) -> io::Result<()> {
        io::copy(&mut self.socket, &mut io::sink()).map(drop)
    }

    /// As an honest server over TLS that stalls in the middle of a record, when it has sent so many.
    pub fn stall_in_record(&mut self, most: usize) -> io::Result<()> {
        self.serve_over_tls(Some(most))
    }

    /// As an honest server over TLS that says after its first answer that nothing follows, and then sends more.
    pub fn take_leave_and_go_on(&mut self) -> io::Result<()> {
        self.serve_over_tls(None)
    }

    fn serve_over_tls(&mut self, most: Option<usize>) -> io::Result<()> {
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).map_err(io::Error::other)?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
        let config = Arc::new(config.map_err(io::Error::other)?);
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let (mut sent, mut plain, mut said) = (0, Vec::new(), 0);
        loop {
            let mut out = Vec::new();
            while tls.wants_write() {
                tls.write_tls(&mut out)?;
            }
            let mut at = 0;
            while at < out.len() {
                let length = 5 + usize::from(u16::from_be_bytes([out[at + 3], out[at + 4]]));
                if Some(sent) == most {
                    self.send(&out[at..at + length / 2])?;
                    return self.stall();
                }
                self.send(&out[at..at + length])?;
                (sent, at) = (sent + 1, at + length);
            }
            if most.is_none() && said > 1 {
                tls.send_close_notify();
                tls.write_tls(&mut self.socket)?;
                return self.flood(&[0; 1000]);
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(());
            }
            let state = tls.process_new_packets().map_err(io::Error::other)?;
            plain.resize(state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain)?;
            // Each piece that comes is a frame, or several: the first is the hello, the others wait for answers.
            let Ok(Some((frame, _))) = frame_at(&plain, 1 << 20) else { continue };
            if said == 0 {
                tls.writer().write_all(&welcome())?;
            } else {
                let (head, _) = RequestHead::split(frame).map_err(|_| io::ErrorKind::InvalidData)?;
                let mut answer = Writer::reply(head.xid, 1, 0);
                Reply::Stat(Stat::default()).write(&mut answer);
                tls.writer().write_all(&answer.finish())?;
            }
            said += 1;
        }
    }
}

pub fn welcome() -> Vec<u8> {
    Welcome { timeout: 2000, session: 7, password: &[3; 16], read_only: Some(false) }.frame()
}
