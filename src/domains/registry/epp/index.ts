export { createEppRegistry, type EppRegistryOptions } from './epp-registry.ts';
export { type ChooseDelivery, deliverAtRandom } from './server/deliveries.ts';
export {
  type EppServer,
  type EppServerLimits,
  startEppServer,
} from './server/start-epp-server.ts';
