//! Opening a session: what the crate is told of the options, and the handshake.

use std::sync::Arc;
use std::time::Duration;

use zookeeper_client as zk;

use super::service::{Service, attended};
use super::translation::{tls_options, wire_error};
use super::transport;
use super::{ClientOptions, Diagnosis, Dial, Error, Flight, Session, Wire, WireError};
use crate::metrics::Counters;
use crate::runtime;
use crate::session::wire::silence;
use crate::tls::Tls;

/// Opens sessions through `zookeeper-client`.
pub(crate) struct ZooKeeper {
    pub(crate) counters: Arc<Counters>,
}

/// What the crate makes of it in a session with that timeout.
fn kept(silence: Duration, timeout: Duration) -> Duration {
    if silence > timeout * 3 / 5 { timeout * 2 / 5 } else { silence }
}

/// Connects. The servers may grant another timeout than was asked for, to which the time of silence does not fit; the crate
/// takes that time beforehand only, so they are asked once more then, for what they grant.
async fn connected(
    connector: zk::Connector,
    options: ClientOptions,
    hosts: String,
) -> Result<(zk::Client, Service), zk::Error> {
    let is_secure = options.tls.is_some();
    let (client, service) = attended(connector.clone(), hosts.clone(), is_secure).await?;
    let granted = client.session_timeout();
    let (fits, is) = (silence(&options, granted), kept(silence(&options, options.session_timeout), granted));
    if (fits - fits / 16..=fits + fits / 32).contains(&is) {
        return Ok((client, service));
    }
    // Its session ends with it.
    drop(client);
    let connector = connector.with_session_timeout(granted).with_connection_timeout(fits);
    attended(connector, hosts, is_secure).await
}

impl ZooKeeper {
    /// With the certificates as they are now.
    pub(super) fn connector(options: &ClientOptions) -> Result<zk::Connector, WireError> {
        let mut connector = zk::Client::connector()
            .with_session_timeout(options.session_timeout)
            .with_connection_timeout(silence(options, options.session_timeout))
            .with_readonly(options.read_only);
        for auth in &options.auth {
            connector = connector.with_auth(&auth.scheme, &auth.credential);
        }
        if let Some(sasl) = &options.sasl {
            connector =
                connector.with_sasl(zk::SaslOptions::digest_md5(sasl.user.clone(), sasl.password.clone()));
        }
        if let Some(tls) = &options.tls {
            let tls = Tls::read(tls).map_err(WireError::Refused)?;
            connector = connector.with_tls(tls_options(&tls).map_err(|error| {
                // It was checked, so this is rare.
                WireError::Refused(Error::invalid("tls", error))
            })?);
        }
        Ok(connector)
    }
}

impl Dial for ZooKeeper {
    fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
        let connector = match transport::REACTOR.enter(transport::IS_TOKIO) {
            Ok(()) => ZooKeeper::connector(options),
            Err(forked) => Err(WireError::Refused(forked)),
        };
        let (hosts, options, counters) = (hosts.to_owned(), options.clone(), self.counters.clone());
        Box::pin(async move {
            let connecting = runtime::spawn_task(connected(connector?, options, hosts.clone()));
            // Who stops waiting leaves the task to end by itself: the client it may yet yield is dropped, which closes
            // its session, where an aborted handshake would leave one behind.
            let client = connecting.await.map_err(|panicked| WireError::Other(panicked.to_string()))?;
            let (client, service) = client.map_err(wire_error)?;
            Ok(Box::new(Session::over(client, hosts, service, counters)) as Box<dyn Wire>)
        })
    }

    fn diagnosis(&self, hosts: &str, options: &ClientOptions) -> Option<Diagnosis> {
        Some(Diagnosis::new(hosts, options.tls.as_ref()?))
    }

    fn has_machines(&self) -> bool {
        true
    }
}
