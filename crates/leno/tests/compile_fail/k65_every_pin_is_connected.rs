//@ says: the trait bound `&Net<i32>: Plug<(
// A function has an input and an output.
use leno::fibre::chip::{Circuit, function};

fn main() {
    let mut circuit = Circuit::new();
    let net = circuit.net::<i32>("net");
    circuit.add(function(|n: i32| n), &net);
}
