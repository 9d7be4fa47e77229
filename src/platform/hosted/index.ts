/** Hosted pages: a surface for people without an account, by the page's address alone. */
export { collectForVisitor, type HostedAnswer, streamToVisitor } from './answer-visitor.ts';
export { createHostedChat, type HostedChat } from './chat.ts';
export { findPage } from './find-page.ts';
export { statusFrame } from './hosted-frames.ts';
export { showPage } from './show-page.ts';
