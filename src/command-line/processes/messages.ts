/** What the first process and those that serve tell each other. */
import type { Service } from '../service-name.ts';

export type FromServing =
  /** It is about to listen: the first process must no longer hold the ports. */
  | { readonly type: 'listening' }
  | { readonly type: 'serving'; readonly welcome: string }
  /** Asks for a page of metrics, all processes together. */
  | { readonly type: 'metrics'; readonly id: number; readonly service: Service }
  | { readonly type: 'snapshot'; readonly id: number; readonly metrics: readonly object[] };

export type FromFirst =
  | { readonly type: 'ports free' }
  /** Every process that was to be started serves. */
  | { readonly type: 'all serve' }
  | { readonly type: 'stop'; readonly signal: NodeJS.Signals }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string }
  | { readonly type: 'take snapshot'; readonly id: number; readonly service: Service };
