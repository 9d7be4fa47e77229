export {
  createEmbeddedPublisher,
  type EmbeddedPublisher,
  type EmbeddedPublisherOptions,
} from './embedded-publisher.ts';
