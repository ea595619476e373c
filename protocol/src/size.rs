//! How many bytes a request takes behind the length of its frame, by the lengths of what it is made of: for whoever has to know
//! before there is a request.

/// The head of each request.
const HEAD: usize = 8;
/// The head of each part of a multi, and what stands behind the last one.
const PART: usize = 9;
const INT: usize = 4;
const LONG: usize = 8;
const BOOL: usize = 1;

/// A text or a buffer, with its length.
const fn buffer(bytes: usize) -> usize {
    INT + bytes
}

/// An access list, by the lengths of scheme and id of each entry.
pub fn acl(entries: impl IntoIterator<Item = (usize, usize)>) -> usize {
    INT + entries.into_iter().map(|(scheme, id)| INT + buffer(scheme) + buffer(id)).sum::<usize>()
}

/// A create; `acl` as the function of that name says.
pub const fn create(path: usize, data: usize, acl: usize, has_ttl: bool) -> usize {
    HEAD + buffer(path) + buffer(data) + acl + INT + if has_ttl { LONG } else { 0 }
}

pub const fn delete(path: usize) -> usize {
    HEAD + buffer(path) + INT
}

pub const fn set_data(path: usize, data: usize) -> usize {
    HEAD + buffer(path) + buffer(data) + INT
}

pub const fn check(path: usize) -> usize {
    HEAD + buffer(path) + INT
}

/// A read, with a watch or without: of data, of children, or whether there is a node.
pub const fn read(path: usize) -> usize {
    HEAD + buffer(path) + BOOL
}

pub const fn sync(path: usize) -> usize {
    HEAD + buffer(path)
}

/// A multi or a multiRead without its parts.
pub const fn empty_multi() -> usize {
    HEAD + PART
}

/// What a request that takes so much alone adds to a multi.
pub const fn part(alone: usize) -> usize {
    alone - HEAD + PART
}
