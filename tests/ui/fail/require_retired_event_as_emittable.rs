use outbox_ui_tests::events::ParcelWeighed;

fn may_be_emitted<E: outbox_runtime::DomainEvent>(_: E) {}

fn main() {
    may_be_emitted(ParcelWeighed { kilograms: 1 });
}
