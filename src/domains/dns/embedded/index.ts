export {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
} from './embedded-publisher.ts';
