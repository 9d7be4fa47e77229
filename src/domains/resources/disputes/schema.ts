import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const PaymentEventTaken = component('PaymentEventTaken', Type.Object({ received: Type.Literal(true) }));
