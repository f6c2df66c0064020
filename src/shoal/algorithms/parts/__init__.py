"""What several algorithms share, or what would hide the paper's steps in one of them: parts with one meaning each."""
