//! temporary
pub(crate) mod ticket;
