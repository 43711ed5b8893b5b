//@ says: error[E0133]
//@ says: Status::with_id
//@ errors: 1
fn main() {
    let status = leno::Status::with_id(std::ptr::NonNull::dangling(), 1);
    let _ = status.state();
}
