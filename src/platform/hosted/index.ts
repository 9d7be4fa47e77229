/** Hosted pages: a surface for people without an account, by the page's address alone. */
export { collectForVisitor, type HostedAnswer, streamFailure, streamToVisitor, tellFailure } from './answer-visitor.ts';
export { createHostedChat, type HostedChat } from './chat.ts';
export { findPage } from './find-page.ts';
export { showPage } from './show-page.ts';
