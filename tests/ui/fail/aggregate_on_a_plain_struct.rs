use outbox_runtime::aggregate;

#[aggregate(root = Order, name = "order")]
pub struct Customer {
    pub id: i64,
}

fn main() {
    // No further error: the struct is there.
    let _ = Customer { id: 1 };
}
