//@ says: SystemBuilder` in the current scope
//@ says: no method named `preemptive` found for struct `Runner`
// What stands between two operations of theirs is not interrupted.
fn main() {
    drop(leno::flexible::System::builder().preemptive());
    drop(leno::fibre::Runner::new().preemptive());
}
