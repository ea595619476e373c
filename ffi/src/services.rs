//! What service discovery is given and hands over: services, instances, registrations.

use std::ffi::{CString, c_char, c_void};
use std::ptr::null;

use zkrecipes::drive::Registering;
use zkrecipes::{Client, Error, Instance, PickBy, Registration, Result, Service, ServiceType};

use crate::answers::{Handed, Tell};
use crate::collections::{List, Texts};
use crate::contenders::since_1970;
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, to_c};
use crate::lists::{Instances, zkr_instances};
use crate::options::choice;
use crate::sized::{Flag, SelfSized, read};
use crate::verbs::Holder;

#[path = "generated/registration.rs"]
mod registration;

/// How long the registration of a service lasts.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_service_type {
    // --- generated from api: values of ServiceType
    /// As long as the client that has registered it.
    ZKR_SERVICE_TYPE_DYNAMIC = 0,
    /// Until it is unregistered.
    ZKR_SERVICE_TYPE_STATIC = 1,
    /// Until it is unregistered; for services that are there for good.
    ZKR_SERVICE_TYPE_PERMANENT = 2,
    /// As long as the client; the server appends a number of ten digits to the name of the node.
    ZKR_SERVICE_TYPE_DYNAMIC_SEQUENTIAL = 3,
    // --- end of generated
}

/// A zkr_service_type from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenServiceType(i32);

/// Which of the instances of a service is picked.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_pick_by {
    // --- generated from api: values of PickBy
    /// One after the other.
    ZKR_PICK_BY_ROUND_ROBIN = 0,
    /// Any.
    ZKR_PICK_BY_RANDOM = 1,
    /// The same as before, as long as it is there.
    ZKR_PICK_BY_STICKY = 2,
    // --- end of generated
}

/// A zkr_pick_by from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenPickBy(i32);

/// The name of a type, the same in every language of zkrecipes: "dynamic", "static", "permanent", "dynamic_sequential".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_service_type_name(kind: GivenServiceType) -> *const c_char {
    let name = match kind.0 {
        // --- generated from api: names of ServiceType
        0 => c"dynamic",
        1 => c"static",
        2 => c"permanent",
        3 => c"dynamic_sequential",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}

const TYPES: [(zkr_service_type, ServiceType); 4] = [
    (zkr_service_type::ZKR_SERVICE_TYPE_DYNAMIC, ServiceType::Dynamic),
    (zkr_service_type::ZKR_SERVICE_TYPE_STATIC, ServiceType::Static),
    (zkr_service_type::ZKR_SERVICE_TYPE_PERMANENT, ServiceType::Permanent),
    (zkr_service_type::ZKR_SERVICE_TYPE_DYNAMIC_SEQUENTIAL, ServiceType::DynamicSequential),
];

/// A service to register. Start from ZKR_SERVICE_INIT; name and address have to be given.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_service {
    /// sizeof(zkr_service), as ZKR_SERVICE_INIT sets it.
    pub size: usize,
    /// Of which service it is an instance.
    pub name: *const c_char,
    /// What tells it from the other instances; NULL for a random one.
    pub id: *const c_char,
    /// Where it is: a host name or an address.
    pub address: *const c_char,
    /// What else is to be known of it, as JSON; NULL for nothing.
    pub payload: *const c_char,
    /// How its URI is made, such as {scheme}://{address}:{port}; NULL if it has none.
    pub uri_spec: *const c_char,
    /// Its port; -1 if it has none.
    pub port: i32,
    /// Its port for TLS; -1 if it has none.
    pub ssl_port: i32,
    /// How long its registration lasts. Unless told: ZKR_SERVICE_TYPE_DYNAMIC.
    pub r#type: GivenServiceType,
    /// Whether it is to be picked. Unless told: true.
    pub enabled: Flag,
    /// Zero.
    pub reserved: [u8; 3],
}

impl SelfSized for zkr_service {
    const INIT: &'static str = "ZKR_SERVICE_INIT";
    const LEAST: usize = size_of::<usize>() + 5 * size_of::<*const c_char>() + 16;

    fn defaults() -> zkr_service {
        zkr_service {
            size: size_of::<zkr_service>(),
            name: null(),
            id: null(),
            address: null(),
            payload: null(),
            uri_spec: null(),
            port: -1,
            ssl_port: -1,
            r#type: GivenServiceType(0),
            enabled: Flag(1),
            reserved: [0; 3],
        }
    }

    fn reserved(&self) -> Vec<u8> {
        self.reserved.to_vec()
    }
}

/// A service from C, checked and copied.
pub(crate) fn service(given: *const zkr_service) -> Result<Service> {
    if given.is_null() {
        return Err(Error::invalid("service", "is NULL; give the address of a zkr_service"));
    }
    let given = read(given)?;
    let mut service = Service::new(input::text("name", given.name)?, input::text("address", given.address)?);
    if let Some(id) = input::optional_text("id", given.id)? {
        service.id = id;
    }
    service.port = port("port", given.port)?;
    service.ssl_port = port("ssl_port", given.ssl_port)?;
    service.payload = input::optional_text("payload", given.payload)?;
    service.uri_spec = input::optional_text("uri_spec", given.uri_spec)?;
    service.service_type = choice("type", given.r#type.0, &TYPES)?.1;
    service.enabled = given.enabled.get("enabled")?;
    Ok(service)
}

/// The same for one that is registered, whose id need not be given again.
pub(crate) fn changed(registration: &Registration, given: *const zkr_service) -> Result<Service> {
    let mut changed = service(given)?;
    if read(given)?.id.is_null() {
        changed.id = registration.id().to_owned();
    }
    Ok(changed)
}

fn port(argument: &str, given: i32) -> Result<Option<u16>> {
    match u16::try_from(given) {
        Ok(port) => Ok(Some(port)),
        Err(_) if given == -1 => Ok(None),
        Err(_) => {
            let problem = format!("{given} is no port; give one from 0 to 65535, or -1 for none");
            Err(Error::invalid(argument, problem))
        }
    }
}

pub(crate) fn pick_by(given: GivenPickBy) -> Result<PickBy> {
    use zkr_pick_by::*;
    let all = [ZKR_PICK_BY_ROUND_ROBIN, ZKR_PICK_BY_RANDOM, ZKR_PICK_BY_STICKY];
    Ok(match choice("by", given.0, &all)? {
        ZKR_PICK_BY_ROUND_ROBIN => PickBy::RoundRobin,
        ZKR_PICK_BY_RANDOM => PickBy::Random,
        ZKR_PICK_BY_STICKY => PickBy::Sticky,
    })
}

// ---- registrations

/// A registered instance of a service. Freeing it ends nothing.
pub struct zkr_registration {
    _opaque: [u8; 0],
}

/// The end of registering. On ZKR_OK the registration belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_registration_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        registration: *mut zkr_registration,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) struct RegistrationHandle {
    client: Client,
    core: Registration,
    id: CString,
}

impl Holder for RegistrationHandle {
    fn client(&self) -> &Client {
        &self.client
    }
}

impl Object for RegistrationHandle {
    type Opaque = zkr_registration;
    const NAME: &'static str = "zkr_registration";
}

impl Handed for Registering {
    type Object = RegistrationHandle;

    fn object(self, client: &Client) -> RegistrationHandle {
        let core = self.hand_over();
        RegistrationHandle { client: client.clone(), id: to_c(core.id()), core }
    }
}

// ---- instances

/// An instance of a service, as it was found.
#[repr(C)]
pub struct zkr_instance {
    /// Of which service it is an instance.
    pub name: *const c_char,
    /// What tells it from the other instances.
    pub id: *const c_char,
    /// Where it is; empty where it has not said so, never NULL.
    pub address: *const c_char,
    /// What else it says of itself, as JSON; NULL for nothing.
    pub payload: *const c_char,
    /// How its URI is made; NULL if it has none.
    pub uri_spec: *const c_char,
    /// Its URI; NULL if it has none.
    pub uri: *const c_char,
    /// When it was registered, by the clock of who did that: milliseconds since 1970.
    pub registered_at_ms: i64,
    /// Its port; -1 if it has none.
    pub port: i32,
    /// Its port for TLS; -1 if it has none.
    pub ssl_port: i32,
    /// How long its registration lasts.
    pub r#type: zkr_service_type,
    /// Whether it is to be picked.
    pub enabled: bool,
}

/// What was registered: a list of one, which nobody has found.
impl Handed for Service {
    type Object = Instances;

    fn object(self, _: &Client) -> Instances {
        List::new(&[self], |one, texts: &mut Texts| {
            let known = TYPES.iter().find(|(_, kind)| *kind == one.service_type);
            zkr_instance {
                name: texts.keep(&one.name),
                id: texts.keep(&one.id),
                address: texts.keep(&one.address),
                payload: one.payload.as_deref().map_or(null(), |text| texts.keep(text)),
                uri_spec: one.uri_spec.as_deref().map_or(null(), |text| texts.keep(text)),
                uri: null(),
                registered_at_ms: 0,
                port: one.port.map_or(-1, i32::from),
                ssl_port: one.ssl_port.map_or(-1, i32::from),
                r#type: known.map_or(zkr_service_type::ZKR_SERVICE_TYPE_DYNAMIC, |(kind, _)| *kind),
                enabled: one.enabled,
            }
        })
    }
}

fn listed(found: &[Instance]) -> Instances {
    List::new(found, |one, texts: &mut Texts| {
        // What zkr_instances_failed asks for.
        texts.keep_list(vec![one.clone()]);
        let known = TYPES.iter().find(|(_, kind)| *kind == one.service_type);
        zkr_instance {
            name: texts.keep(&one.name),
            id: texts.keep(&one.id),
            address: texts.keep(&one.address),
            payload: one.payload.as_deref().map_or(null(), |text| texts.keep(text)),
            uri_spec: one.uri_spec.as_deref().map_or(null(), |text| texts.keep(text)),
            uri: one.uri.as_deref().map_or(null(), |text| texts.keep(text)),
            registered_at_ms: since_1970(one.registered_at),
            port: one.port.map_or(-1, i32::from),
            ssl_port: one.ssl_port.map_or(-1, i32::from),
            r#type: known.map_or(zkr_service_type::ZKR_SERVICE_TYPE_DYNAMIC, |(kind, _)| *kind),
            enabled: one.enabled,
        }
    })
}

/// One of them did not serve: for 30 seconds the handle that has found it does not pick it. Asks no server, and tells nobody else.
/// Past the end of the list it does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_instances_failed(instances: *const zkr_instances, index: usize) {
    guard::quietly(|| {
        if let Some(list) = handle::get_anywhere::<Instances>(instances)
            && let Some(instance) = list.beside::<Instance>(index)
        {
            instance.failed();
        }
    });
}

impl Handed for Vec<Instance> {
    type Object = Instances;

    fn object(self, _: &Client) -> Instances {
        listed(&self)
    }
}

impl Tell<Result<Vec<Instance>>>
    for unsafe extern "C" fn(zkr_status, *mut zkr_instances, *const zkr_error, *mut c_void)
{
    fn tell(listener: Listener<Self>, told: Result<Vec<Instance>>) {
        listener.report(
            told,
            |found| handle::publish(listed(&found)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, found, error, data| unsafe {
                function(status, found.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}
