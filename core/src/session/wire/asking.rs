//! What servers say when they are asked, and what is wrong between one of them and us, in words.

use std::io::{self, ErrorKind as Io, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConnection, Stream};

use crate::hosts::Server;
use crate::tls::{self, Complaint, Tls};

/// What each step may take with each server.
const STEP: Duration = Duration::from_secs(2);
/// A question that every ZooKeeper answers, if only by a refusal.
const QUESTION: &[u8] = b"srvr";

pub(super) fn no_connection(error: &io::Error) -> String {
    match error.kind() {
        Io::ConnectionRefused => "refuses connections (nothing listens there)".to_owned(),
        Io::TimedOut | Io::WouldBlock => "is silent (no connection in time)".to_owned(),
        _ => format!("cannot be reached ({error})"),
    }
}

/// What the server answers to a four letter word; over TLS if that is given. Else why it does not.
pub(crate) fn asked(server: &Server, word: &str, tls: Option<&Tls>) -> Result<String, String> {
    let mut socket = connect(server).map_err(|error| unreachable(&error))?;
    let Some(tls) = tls else { return exchange(&mut socket, word).map_err(|error| unreachable(&error)) };
    let name = ServerName::try_from(server.host.clone()).map_err(|error| error.to_string())?;
    let mut session = ClientConnection::new(tls.config.clone(), name).map_err(|error| error.to_string())?;
    while session.is_handshaking() {
        if let Err(error) = session.complete_io(&mut socket) {
            let reason = unreachable(&error);
            return Err(handshake_problem(&error, server, tls.identity.is_some()).unwrap_or(reason));
        }
    }
    exchange(&mut Stream::new(&mut session, &mut socket), word)
        .map_err(|error| refused_by(&error, tls.identity.is_some()).unwrap_or_else(|| unreachable(&error)))
}

fn exchange(stream: &mut (impl Read + Write), word: &str) -> io::Result<String> {
    stream.write_all(word.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    // Not all that talk to us are servers of ZooKeeper.
    match stream.take(1 << 20).read_to_end(&mut answer) {
        // ZooKeeper takes no leave as TLS wants it.
        Err(error) if error.kind() == Io::UnexpectedEof && !answer.is_empty() => {}
        read => _ = read?,
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn unreachable(error: &io::Error) -> String {
    match error.kind() {
        Io::ConnectionRefused => "refuses connections: nothing listens there".to_owned(),
        Io::TimedOut | Io::WouldBlock => format!("does not answer within {} s", STEP.as_secs()),
        Io::ConnectionReset => "breaks the connection off: the port may want tls".to_owned(),
        _ => format!("cannot be reached: {error}"),
    }
}

fn connect(server: &Server) -> io::Result<TcpStream> {
    let mut last = Io::NotFound.into();
    for address in (&*server.host, server.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, STEP) {
            Ok(socket) => {
                socket.set_read_timeout(Some(STEP))?;
                socket.set_write_timeout(Some(STEP))?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(super) fn handshake_problem(error: &io::Error, server: &Server, has_identity: bool) -> Option<String> {
    if let Some(problem) = refused_by(error, has_identity) {
        return Some(problem);
    }
    match error.kind() {
        // It may be paused, or far away.
        Io::WouldBlock | Io::TimedOut => None,
        _ if speaks_plain_text(server) => Some(
            "it speaks plain text at this port; name its secure port, or leave the option tls out".to_owned(),
        ),
        Io::UnexpectedEof | Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe => None,
        _ => Some(format!(
            "the handshake failed: {error}; check that this is the server's secure port (option tls)"
        )),
    }
}

/// What one of the two said against the other.
pub(super) fn refused_by(error: &io::Error, has_identity: bool) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            Some(other.0.downcast_ref::<Complaint>().map_or_else(|| other.to_string(), Complaint::to_string))
        }
        rustls::Error::InvalidCertificate(error) => Some(tls::in_words(error)),
        rustls::Error::AlertReceived(alert) => Some(match (alert, has_identity) {
            (AlertDescription::ProtocolVersion, _) => {
                "it speaks older versions of TLS only; let it speak 1.2 or 1.3 (option tls)".to_owned()
            }
            (AlertDescription::CertificateRequired | AlertDescription::BadCertificate, false) => {
                "it asks who we are; give tls.cert and tls.key".to_owned()
            }
            (alert, false) => {
                format!("it refused the handshake ({alert:?}); check tls, and whether it asks for tls.cert")
            }
            (AlertDescription::CertificateExpired, _) => {
                "our certificate has expired; renew tls.cert".to_owned()
            }
            (alert, true) => format!(
                "it does not accept our certificate ({alert:?}); check tls.cert, and the authorities that the server trusts"
            ),
        }),
        _ => None,
    }
}

fn speaks_plain_text(server: &Server) -> bool {
    let ask = || {
        let mut socket = connect(server)?;
        socket.write_all(QUESTION)?;
        let mut start = [0; 8];
        let length = socket.read(&mut start)?;
        Ok::<_, io::Error>(start[..length].to_vec())
    };
    // "Zookeeper version: …", "This ZooKeeper instance is not …", "srvr is not executed because …".
    ask().is_ok_and(|start| start.len() > 3 && start.iter().all(|byte| (b' '..=b'~').contains(byte)))
}
