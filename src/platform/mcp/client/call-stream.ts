/**
 * Watches the stream of the call under way on a transport of the older revisions: by which ids it can be read on later, from
 * where, should it be let go. A question is found there only where it came as an event with an id.
 */
import type { RequestId, Transport } from '@modelcontextprotocol/client';

/** Where a call can be gone on with. */
export interface CallPlace {
  readonly callId: RequestId;
  readonly lastEventId: string;
}

export class CallStream {
  #callId: RequestId | undefined;
  /** Of the event whose message is about to be delivered. */
  #eventId: string | undefined;
  readonly #questions = new Map<RequestId, string>();
  #cancelling: Promise<void> = Promise.resolve();

  /** Once the transport is connected: what is sent and delivered goes through here. */
  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const method = 'method' in message ? message.method : undefined;
      if (method === 'tools/call' && 'id' in message && message.id !== undefined) this.#begin(message.id);
      const sent = send(message, options);
      if (method === 'notifications/cancelled') this.#cancelling = sent.catch(() => {});
      return sent;
    };
    const deliver = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (this.#eventId !== undefined && 'method' in message && 'id' in message) {
        this.#questions.set(message.id, this.#eventId);
      }
      deliver?.(message, extra);
    };
  }

  /** To be told of the ids of the call's events. The client delivers an event's message at once, others' never in between. */
  readonly onEvent = (id: string): void => {
    this.#eventId = id;
    queueMicrotask(() => {
      this.#eventId = undefined;
    });
  };

  /** Undefined: the question came without an id, or on another stream. */
  placeOf(questionId: RequestId): CallPlace | undefined {
    const lastEventId = this.#questions.get(questionId);
    return this.#callId === undefined || lastEventId === undefined ? undefined : { callId: this.#callId, lastEventId };
  }

  /** Resolves once the server has been told of a call that was cancelled. */
  get cancelled(): Promise<void> {
    return this.#cancelling;
  }

  #begin(callId: RequestId): void {
    this.#callId = callId;
    this.#questions.clear();
  }
}
