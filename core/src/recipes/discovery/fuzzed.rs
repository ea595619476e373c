//! Nodes of services as anybody may have written them: each is an instance or none, and what is one can be registered.

use std::sync::Weak;

use super::instance::{Instance, Service};
use super::set_aside::FoundNode;
use super::uri::{uri_parts, uri_spec};
use crate::session::wire::Stat;

/// The data of a node.
pub(crate) fn data(bytes: &[u8]) {
    _ = Instance::read(FoundNode::new("/services/s/i", &Stat::default()), bytes, Weak::new());
    let Some(service) = Service::decode(bytes) else { return };
    let Ok(written) = service.encode(7) else { return };
    let again = Service::decode(&written).expect("it was written");
    // Texts that stand side by side in how a URI is made are one text from then on.
    let service = Service { uri_spec: again.uri_spec.clone(), ..service };
    assert_eq!(again, service);
}

/// A text that says how URIs are made.
pub(crate) fn spec(bytes: &[u8]) {
    let Ok(parts) = uri_parts(&String::from_utf8_lossy(bytes)) else { return };
    let spec = uri_spec(&parts);
    assert_eq!(uri_spec(&uri_parts(&spec).expect("it was made")), spec);
}
