"""Evaluate a LangChain chain: ragbed run -m factory/langchain_rag:make -d qa.csv --docs handbook."""

from pathlib import Path

from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnableLambda
from local_model import chat  # in your system: ChatOpenAI, ChatOllama, …
from own_rag import make_search  # in your system: a vector store

PROMPT = PromptTemplate.from_template("Answer from these documents.\n\n{context}\n\nQuestion: {question}")


def make(folder: Path) -> object:
    """Index the documents in a folder, and return a function that answers questions from them."""
    search = make_search(folder)
    retriever = RunnableLambda(lambda question: [Document(page_content=text) for _, text in search(question, 4)])
    chain = PROMPT | RunnableLambda(lambda prompt: chat(prompt.to_string()))

    def answer(question: str) -> dict[str, object]:
        found = retriever.invoke(question)
        given = {"context": "\n".join(one.page_content for one in found), "question": question}
        return {"answer": chain.invoke(given), "contexts": found}

    return answer
