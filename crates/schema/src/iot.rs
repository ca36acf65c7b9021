//! `/iot`: Internet of Things.

pub(crate) mod bluetooth;
pub(crate) mod lora;
pub(crate) mod modbus;
pub(crate) mod mqtt;
pub(crate) mod wiliot;
