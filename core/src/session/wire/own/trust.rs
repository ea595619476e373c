//! What the options say of TLS, read anew for each connection: who renews a certificate replaces a file, and says nothing.

use std::io::{self, ErrorKind as Io, Read, Write};
use std::sync::{Arc, Mutex};

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use crate::error::Error;
use crate::hosts::Server;
use crate::options::TlsOptions;
use crate::session::wire::Trouble;
use crate::session::wire::asking::{handshake_problem, refused_by};
use crate::threads;
use crate::tls::Tls;

pub(super) struct Trust {
    options: TlsOptions,
    /// As it was last read: with it go the sessions that servers resume.
    last: Mutex<Arc<Tls>>,
}

impl Trust {
    pub(super) fn new(options: &TlsOptions) -> Result<Trust, Error> {
        let last = Mutex::new(Arc::new(Tls::read(options)?));
        Ok(Trust { options: options.clone(), last })
    }

    /// What a server that was trusted says against us.
    pub(super) fn refused(&self, error: &io::Error) -> Option<Trouble> {
        refused_by(error, self.options.cert.is_some()).map(Trouble::refusal)
    }

    /// On a thread of its own: files may be far away.
    pub(super) async fn read(self: &Arc<Self>) -> Result<Arc<Tls>, Trouble> {
        let trust = self.clone();
        let read = threads::aside("zkrecipes-tls", move || {
            let read = Tls::read(&trust.options)?;
            let mut last = trust.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if !last.is_as(&read) {
                *last = Arc::new(read);
            }
            Ok::<_, Error>(last.clone())
        });
        match read.await {
            Some(Ok(tls)) => Ok(tls),
            Some(Err(error)) => Err(error.to_string().into()),
            None => Err("the system has no thread to give".into()),
        }
    }

    /// The handshake of TLS, or what is wrong with it.
    pub(super) async fn shake_hands(
        self: &Arc<Self>,
        stream: &TcpStream,
        server: &Server,
    ) -> Result<ClientConnection, Trouble> {
        let tls = self.read().await?;
        let name = ServerName::try_from(server.host.clone()).map_err(|error| error.to_string())?;
        let session = ClientConnection::new(tls.config.clone(), name);
        let mut session = session.map_err(|error| error.to_string())?;
        while session.is_handshaking() {
            let is_writing = session.wants_write();
            let waited = match step(&mut session, stream) {
                Ok(()) => continue,
                Err(error) if error.kind() == Io::WouldBlock && is_writing => stream.writable().await,
                Err(error) if error.kind() == Io::WouldBlock => stream.readable().await,
                Err(error) => Err(error),
            };
            if let Err(error) = waited {
                // So that the server hears of it, too.
                let _ = session.write_tls(&mut Now(stream));
                return Err(self.trouble(error, server).await);
            }
        }
        Ok(session)
    }

    async fn trouble(&self, error: io::Error, server: &Server) -> Trouble {
        if let Some(trouble) = self.refused(&error) {
            return trouble;
        }
        let (server, has_identity) = (server.clone(), self.options.cert.is_some());
        // A server that speaks plain text hangs up, as others do; only a question in plain text tells.
        let asked = threads::aside("zkrecipes-tls", move || handshake_problem(&error, &server, has_identity));
        match asked.await.flatten() {
            Some(problem) => Trouble::refusal(problem),
            None => Trouble::from(
                "closes connections in the handshake of TLS (it may have no quorum, or too many come from here)",
            ),
        }
    }
}

fn step(session: &mut ClientConnection, stream: &TcpStream) -> io::Result<()> {
    if session.wants_write() {
        return session.write_tls(&mut Now(stream)).map(drop);
    }
    if session.read_tls(&mut Now(stream))? == 0 {
        return Err(Io::UnexpectedEof.into());
    }
    session.process_new_packets().map(drop).map_err(|error| io::Error::new(Io::InvalidData, error))
}

/// A socket that never waits.
struct Now<'a>(&'a TcpStream);

impl Read for Now<'_> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(space)
    }
}

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
