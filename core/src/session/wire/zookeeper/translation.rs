//! What goes to the crate, in its words, and what comes from it, in ours.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use zookeeper_client as zk;

use super::super::watched::Room;
use super::super::*;
use super::bell::Naming;
use crate::tls::Tls;

pub(super) fn watch(watcher: zk::OneshotWatcher, room: Room, naming: Arc<Naming>) -> Watch {
    let room = room.set();
    // No block of code: that would have room for the watcher twice, and there may be thousands.
    Watch::new(Box::pin(AssertUnwindSafe(watcher.changed()).catch_unwind().map(move |event| {
        room.fired();
        // The crate panics if the task that serves the session dies under the watch.
        let Ok(event) = event else { return Event::SessionEnded };
        naming.note(&event);
        match event.event_type {
            zk::EventType::NodeCreated => Event::Created,
            zk::EventType::NodeDeleted => Event::Deleted,
            zk::EventType::NodeDataChanged => Event::DataChanged,
            zk::EventType::NodeChildrenChanged => Event::ChildrenChanged,
            zk::EventType::Session => Event::SessionEnded,
        }
    })))
}

/// One of several reads.
pub(super) fn read(result: zk::MultiReadResult) -> Read {
    match result {
        zk::MultiReadResult::Data { data, stat: found } => Ok((data, stat(found))),
        zk::MultiReadResult::Error { err } => Err(wire_error(err)),
        other => Err(WireError::Other(format!("{other:?} is no data"))),
    }
}

pub(super) fn applied(result: zk::MultiWriteResult) -> Applied {
    match result {
        zk::MultiWriteResult::Delete => Applied::Deleted,
        zk::MultiWriteResult::Create { path, stat } => Applied::Created(Created { path, czxid: stat.czxid }),
        zk::MultiWriteResult::SetData { stat: found } => Applied::Set(stat(found)),
        // The one that is left.
        _ => Applied::Checked,
    }
}

pub(super) fn create_options<'a>(mode: CreateMode, acls: &'a Acls) -> zk::CreateOptions<'a> {
    let kind = match mode {
        CreateMode::Persistent | CreateMode::PersistentTtl(_) => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::PersistentSequential | CreateMode::PersistentSequentialTtl(_) => {
            zk::CreateMode::PersistentSequential
        }
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
        CreateMode::Container => zk::CreateMode::Container,
    };
    let options = kind.with_acls(acls.borrow());
    match mode.ttl() {
        Some(ttl) => options.with_ttl(ttl),
        None => options,
    }
}

/// An access list in the crate's terms, owned for as long as a request is made.
pub(super) enum Acls {
    Open,
    Creator,
    List(Vec<zk::Acl>),
}

impl From<&AclChoice> for Acls {
    fn from(choice: &AclChoice) -> Acls {
        match choice {
            AclChoice::Default | AclChoice::Open => Acls::Open,
            AclChoice::Creator => Acls::Creator,
            AclChoice::List(entries) => Acls::List(
                entries
                    .iter()
                    .map(|entry| {
                        zk::Acl::new(
                            permissions(&entry.permissions),
                            zk::AuthId::new(&entry.scheme, &entry.id),
                        )
                    })
                    .collect(),
            ),
        }
    }
}

impl Acls {
    pub(super) fn borrow(&self) -> zk::Acls<'_> {
        match self {
            Acls::Open => zk::Acls::anyone_all(),
            Acls::Creator => zk::Acls::creator_all(),
            Acls::List(entries) => zk::Acls::new(entries),
        }
    }
}

const PERMISSIONS: [(char, zk::Permission); 5] = [
    ('r', zk::Permission::READ),
    ('w', zk::Permission::WRITE),
    ('c', zk::Permission::CREATE),
    ('d', zk::Permission::DELETE),
    ('a', zk::Permission::ADMIN),
];

/// An entry of a list that a server told.
pub(super) fn entry(told: &zk::Acl) -> AclEntry {
    let has = |(_, permission): &&(char, zk::Permission)| told.permission().has(*permission);
    AclEntry {
        scheme: told.scheme().to_owned(),
        id: told.id().to_owned(),
        permissions: PERMISSIONS.iter().filter(has).map(|(letter, _)| *letter).collect(),
    }
}

fn permissions(letters: &str) -> zk::Permission {
    let meant = PERMISSIONS.iter().filter(|(letter, _)| letters.contains(*letter));
    meant.fold(zk::Permission::NONE, |all, (_, permission)| all | *permission)
}

pub(super) fn tls_options(tls: &Tls) -> Result<zk::TlsOptions, zk::Error> {
    let mut options = zk::TlsOptions::new().with_pem_ca(&tls.ca)?;
    if let Some((cert, key)) = &tls.identity {
        options = options.with_pem_identity(cert, key)?;
    }
    if !tls.verify_hostname {
        // SAFETY: nothing of memory; it asks for what the user asked for.
        options = unsafe { options.with_no_hostname_verification() };
    }
    Ok(options)
}

pub(super) fn stat(found: zk::Stat) -> Stat {
    Stat {
        czxid: found.czxid,
        mzxid: found.mzxid,
        ctime: found.ctime,
        mtime: found.mtime,
        version: found.version,
        cversion: found.cversion,
        aversion: found.aversion,
        ephemeral_owner: found.ephemeral_owner,
        data_length: found.data_length,
        num_children: found.num_children,
        pzxid: found.pzxid,
    }
}

pub(super) fn wire_error(error: zk::Error) -> WireError {
    match error {
        zk::Error::NoNode => WireError::NoNode,
        zk::Error::NodeExists => WireError::NodeExists,
        zk::Error::BadVersion => WireError::BadVersion,
        zk::Error::NotEmpty => WireError::NotEmpty,
        zk::Error::NoChildrenForEphemerals => WireError::EphemeralParent,
        zk::Error::NoAuth => WireError::NoAuth,
        zk::Error::AuthFailed => WireError::AuthFailed,
        zk::Error::InvalidAcl => WireError::InvalidAcl,
        zk::Error::QuotaExceeded => WireError::QuotaExceeded,
        zk::Error::NotReadOnly => WireError::ReadOnly,
        zk::Error::Unimplemented => WireError::Unimplemented,
        zk::Error::ConnectionLoss | zk::Error::Timeout | zk::Error::NoHosts => WireError::ConnectionLoss,
        // A moved session's request was refused by the server it left; where it went, nothing is known of it. A
        // throttled one was not carried out. Both may be asked again on the session, which lives.
        zk::Error::SessionMoved | zk::Error::Throttled => WireError::ConnectionLoss,
        zk::Error::SessionExpired | zk::Error::ClientClosed => WireError::SessionEnded,
        // Nobody knows what became of a request whose answer could not be read, or whose socket broke: the crate reports
        // the latter by the text of the I/O error.
        zk::Error::UnexpectedError(_) | zk::Error::UnmarshalError { .. } | zk::Error::Custom(_) => {
            WireError::ConnectionLoss
        }
        // The crate's own words are for what it does not send. A server says it of its own nodes, which nobody deletes.
        zk::Error::BadArguments(&"server error") => WireError::bad_arguments(),
        zk::Error::BadArguments(problem) => WireError::BadRequest((*problem).to_owned()),
        zk::Error::MarshallingError => WireError::senseless(),
        zk::Error::UnexpectedErrorCode(number) => WireError::of_number(number),
        other => WireError::Other(other.to_string()),
    }
}
