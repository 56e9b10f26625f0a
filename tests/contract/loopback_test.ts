import { LoopbackBus } from "../../src/can/mod.ts";
import { canBusSuite } from "./can_bus.ts";

canBusSuite("LoopbackBus", { create: (name) => new LoopbackBus(name), hasInterfaces: false });
