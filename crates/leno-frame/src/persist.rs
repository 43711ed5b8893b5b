//! What may live in a frame.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What may be alive across a suspension: data that serde writes and reads, that owns itself, and that
/// may change threads. Implemented for all such types; a bound for type parameters of resumable
/// functions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a coroutine frame",
    label = "this value is still needed after a suspension, but `{Self}` cannot be saved",
    note = "a local that is alive across an `.await` of a `#[resumable]` fn must implement \
            `serde::Serialize` and `serde::Deserialize`, own its data (no borrows) and be `Send`",
    note = "a type of your own: put `#[derive(serde::Serialize, serde::Deserialize)]` on it, and \
            `serde = {{ version = \"1\", features = [\"derive\"] }}` in Cargo.toml",
    note = "ways out: end its life before the suspension; keep the owner and borrow again after it; keep \
            an id and re-create it; wrap a resource in `Ext<T>`; put shared handles in the context \
            (`co.ctx()`)"
)]
pub trait Persist: Serialize + DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + 'static> Persist for T {}
