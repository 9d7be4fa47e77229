export {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
} from './embedded-publisher.ts';
export { readNetwork } from './guard/client-address.ts';
export { type CookieSecrets, derivedSecrets, givenSecrets } from './guard/cookie-secrets.ts';
export { trySecondary } from './transfer/try-secondary.ts';
