//! Opcodes with their names, and the error codes a server answers with.

/// A request's opcode, as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op(pub i32);

/// The name an opcode goes by in logs and faults.
pub type OpName = &'static str;

macro_rules! ops {
    ($($konst:ident = $code:literal, $name:literal;)*) => {
        impl Op { $(pub const $konst: Op = Op($code);)* }

        /// The name of an opcode; `"unknown"` for one no server knows.
        pub fn op_name(op: Op) -> OpName {
            match op.0 { $($code => $name,)* _ => "unknown" }
        }

        impl Op {
            /// Every name, for checking what users write.
            pub const NAMES: &[OpName] = &[$($name),*];
        }
    };
}

ops! {
    CREATE = 1, "create";
    DELETE = 2, "delete";
    EXISTS = 3, "exists";
    GET_DATA = 4, "getData";
    SET_DATA = 5, "setData";
    GET_ACL = 6, "getACL";
    SET_ACL = 7, "setACL";
    GET_CHILDREN = 8, "getChildren";
    SYNC = 9, "sync";
    PING = 11, "ping";
    GET_CHILDREN2 = 12, "getChildren2";
    CHECK = 13, "check";
    MULTI = 14, "multi";
    CREATE2 = 15, "create2";
    RECONFIG = 16, "reconfig";
    CHECK_WATCHES = 17, "checkWatches";
    REMOVE_WATCHES = 18, "removeWatches";
    CREATE_CONTAINER = 19, "createContainer";
    DELETE_CONTAINER = 20, "deleteContainer";
    CREATE_TTL = 21, "createTTL";
    MULTI_READ = 22, "multiRead";
    AUTH = 100, "auth";
    SET_WATCHES = 101, "setWatches";
    SASL = 102, "sasl";
    GET_EPHEMERALS = 103, "getEphemerals";
    GET_ALL_CHILDREN_NUMBER = 104, "getAllChildrenNumber";
    SET_WATCHES2 = 105, "setWatches2";
    ADD_WATCH = 106, "addWatch";
    WHO_AM_I = 107, "whoAmI";
    CONNECT = -10, "connect";
    CLOSE = -11, "close";
}

/// ZooKeeper's error codes, as far as a server answers with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    RuntimeInconsistency = -2,
    MarshallingError = -5,
    Unimplemented = -6,
    BadArguments = -8,
    NoNode = -101,
    NoAuth = -102,
    BadVersion = -103,
    NoChildrenForEphemerals = -108,
    NodeExists = -110,
    NotEmpty = -111,
    SessionExpired = -112,
    InvalidAcl = -114,
    AuthFailed = -115,
    SessionMoved = -118,
    NotReadOnly = -119,
    NoWatcher = -121,
    ReconfigDisabled = -123,
    AuthRequired = -124,
    QuotaExceeded = -125,
    Throttled = -127,
}

impl Code {
    /// The code that a reply's header carries; none for one that no server we know of answers with.
    pub fn of(err: i32) -> Option<Code> {
        const ALL: [Code; 20] = [
            Code::RuntimeInconsistency,
            Code::MarshallingError,
            Code::Unimplemented,
            Code::BadArguments,
            Code::NoNode,
            Code::NoAuth,
            Code::BadVersion,
            Code::NoChildrenForEphemerals,
            Code::NodeExists,
            Code::NotEmpty,
            Code::SessionExpired,
            Code::InvalidAcl,
            Code::AuthFailed,
            Code::SessionMoved,
            Code::NotReadOnly,
            Code::NoWatcher,
            Code::ReconfigDisabled,
            Code::AuthRequired,
            Code::QuotaExceeded,
            Code::Throttled,
        ];
        ALL.into_iter().find(|code| *code as i32 == err)
    }
}
